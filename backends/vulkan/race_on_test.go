//go:build vulkan && race

package vulkan

const raceEnabled = true
