package hal

// SetLaunchSync makes launches wait, as HALYARD_LAUNCH_SYNC=1 does.
func SetLaunchSync(on bool) { launchSync.Store(on) }
