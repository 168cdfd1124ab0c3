package limits

import "github.com/go-halyard/halyard/kernel/grid"

// The kernels of this file come to the depth to which some drivers nest conditions. Each counts in o[i] how far x[i] goes.

// nested70 is within the limits of all drivers that have been tried.
//
//halyard:kernel
func nested70(t grid.Thread, x, o []int32) {
	i := t.Global(0)
	if i >= len(o) {
		return
	}
	if x[i] > 0 {
		o[i]++
		if x[i] > 1 {
			o[i]++
			if x[i] > 2 {
				o[i]++
				if x[i] > 3 {
					o[i]++
					if x[i] > 4 {
						o[i]++
						if x[i] > 5 {
							o[i]++
							if x[i] > 6 {
								o[i]++
								if x[i] > 7 {
									o[i]++
									if x[i] > 8 {
										o[i]++
										if x[i] > 9 {
											o[i]++
											if x[i] > 10 {
												o[i]++
												if x[i] > 11 {
													o[i]++
													if x[i] > 12 {
														o[i]++
														if x[i] > 13 {
															o[i]++
															if x[i] > 14 {
																o[i]++
																if x[i] > 15 {
																	o[i]++
																	if x[i] > 16 {
																		o[i]++
																		if x[i] > 17 {
																			o[i]++
																			if x[i] > 18 {
																				o[i]++
																				if x[i] > 19 {
																					o[i]++
																					if x[i] > 20 {
																						o[i]++
																						if x[i] > 21 {
																							o[i]++
																							if x[i] > 22 {
																								o[i]++
																								if x[i] > 23 {
																									o[i]++
																									if x[i] > 24 {
																										o[i]++
																										if x[i] > 25 {
																											o[i]++
																											if x[i] > 26 {
																												o[i]++
																												if x[i] > 27 {
																													o[i]++
																													if x[i] > 28 {
																														o[i]++
																														if x[i] > 29 {
																															o[i]++
																															if x[i] > 30 {
																																o[i]++
																																if x[i] > 31 {
																																	o[i]++
																																	if x[i] > 32 {
																																		o[i]++
																																		if x[i] > 33 {
																																			o[i]++
																																			if x[i] > 34 {
																																				o[i]++
																																				if x[i] > 35 {
																																					o[i]++
																																					if x[i] > 36 {
																																						o[i]++
																																						if x[i] > 37 {
																																							o[i]++
																																							if x[i] > 38 {
																																								o[i]++
																																								if x[i] > 39 {
																																									o[i]++
																																									if x[i] > 40 {
																																										o[i]++
																																										if x[i] > 41 {
																																											o[i]++
																																											if x[i] > 42 {
																																												o[i]++
																																												if x[i] > 43 {
																																													o[i]++
																																													if x[i] > 44 {
																																														o[i]++
																																														if x[i] > 45 {
																																															o[i]++
																																															if x[i] > 46 {
																																																o[i]++
																																																if x[i] > 47 {
																																																	o[i]++
																																																	if x[i] > 48 {
																																																		o[i]++
																																																		if x[i] > 49 {
																																																			o[i]++
																																																			if x[i] > 50 {
																																																				o[i]++
																																																				if x[i] > 51 {
																																																					o[i]++
																																																					if x[i] > 52 {
																																																						o[i]++
																																																						if x[i] > 53 {
																																																							o[i]++
																																																							if x[i] > 54 {
																																																								o[i]++
																																																								if x[i] > 55 {
																																																									o[i]++
																																																									if x[i] > 56 {
																																																										o[i]++
																																																										if x[i] > 57 {
																																																											o[i]++
																																																											if x[i] > 58 {
																																																												o[i]++
																																																												if x[i] > 59 {
																																																													o[i]++
																																																													if x[i] > 60 {
																																																														o[i]++
																																																														if x[i] > 61 {
																																																															o[i]++
																																																															if x[i] > 62 {
																																																																o[i]++
																																																																if x[i] > 63 {
																																																																	o[i]++
																																																																	if x[i] > 64 {
																																																																		o[i]++
																																																																		if x[i] > 65 {
																																																																			o[i]++
																																																																			if x[i] > 66 {
																																																																				o[i]++
																																																																				if x[i] > 67 {
																																																																					o[i]++
																																																																					if x[i] > 68 {
																																																																						o[i]++
																																																																						if x[i] > 69 {
																																																																							o[i]++
																																																																						} else {
																																																																							o[i] += 7000
																																																																						}
																																																																					} else {
																																																																						o[i] += 6900
																																																																					}
																																																																				} else {
																																																																					o[i] += 6800
																																																																				}
																																																																			} else {
																																																																				o[i] += 6700
																																																																			}
																																																																		} else {
																																																																			o[i] += 6600
																																																																		}
																																																																	} else {
																																																																		o[i] += 6500
																																																																	}
																																																																} else {
																																																																	o[i] += 6400
																																																																}
																																																															} else {
																																																																o[i] += 6300
																																																															}
																																																														} else {
																																																															o[i] += 6200
																																																														}
																																																													} else {
																																																														o[i] += 6100
																																																													}
																																																												} else {
																																																													o[i] += 6000
																																																												}
																																																											} else {
																																																												o[i] += 5900
																																																											}
																																																										} else {
																																																											o[i] += 5800
																																																										}
																																																									} else {
																																																										o[i] += 5700
																																																									}
																																																								} else {
																																																									o[i] += 5600
																																																								}
																																																							} else {
																																																								o[i] += 5500
																																																							}
																																																						} else {
																																																							o[i] += 5400
																																																						}
																																																					} else {
																																																						o[i] += 5300
																																																					}
																																																				} else {
																																																					o[i] += 5200
																																																				}
																																																			} else {
																																																				o[i] += 5100
																																																			}
																																																		} else {
																																																			o[i] += 5000
																																																		}
																																																	} else {
																																																		o[i] += 4900
																																																	}
																																																} else {
																																																	o[i] += 4800
																																																}
																																															} else {
																																																o[i] += 4700
																																															}
																																														} else {
																																															o[i] += 4600
																																														}
																																													} else {
																																														o[i] += 4500
																																													}
																																												} else {
																																													o[i] += 4400
																																												}
																																											} else {
																																												o[i] += 4300
																																											}
																																										} else {
																																											o[i] += 4200
																																										}
																																									} else {
																																										o[i] += 4100
																																									}
																																								} else {
																																									o[i] += 4000
																																								}
																																							} else {
																																								o[i] += 3900
																																							}
																																						} else {
																																							o[i] += 3800
																																						}
																																					} else {
																																						o[i] += 3700
																																					}
																																				} else {
																																					o[i] += 3600
																																				}
																																			} else {
																																				o[i] += 3500
																																			}
																																		} else {
																																			o[i] += 3400
																																		}
																																	} else {
																																		o[i] += 3300
																																	}
																																} else {
																																	o[i] += 3200
																																}
																															} else {
																																o[i] += 3100
																															}
																														} else {
																															o[i] += 3000
																														}
																													} else {
																														o[i] += 2900
																													}
																												} else {
																													o[i] += 2800
																												}
																											} else {
																												o[i] += 2700
																											}
																										} else {
																											o[i] += 2600
																										}
																									} else {
																										o[i] += 2500
																									}
																								} else {
																									o[i] += 2400
																								}
																							} else {
																								o[i] += 2300
																							}
																						} else {
																							o[i] += 2200
																						}
																					} else {
																						o[i] += 2100
																					}
																				} else {
																					o[i] += 2000
																				}
																			} else {
																				o[i] += 1900
																			}
																		} else {
																			o[i] += 1800
																		}
																	} else {
																		o[i] += 1700
																	}
																} else {
																	o[i] += 1600
																}
															} else {
																o[i] += 1500
															}
														} else {
															o[i] += 1400
														}
													} else {
														o[i] += 1300
													}
												} else {
													o[i] += 1200
												}
											} else {
												o[i] += 1100
											}
										} else {
											o[i] += 1000
										}
									} else {
										o[i] += 900
									}
								} else {
									o[i] += 800
								}
							} else {
								o[i] += 700
							}
						} else {
							o[i] += 600
						}
					} else {
						o[i] += 500
					}
				} else {
					o[i] += 400
				}
			} else {
				o[i] += 300
			}
		} else {
			o[i] += 200
		}
	} else {
		o[i] += 100
	}
}

// nested100 is beyond those of some.
//
//halyard:kernel
func nested100(t grid.Thread, x, o []int32) {
	i := t.Global(0)
	if i >= len(o) {
		return
	}
	if x[i] > 0 {
		o[i]++
		if x[i] > 1 {
			o[i]++
			if x[i] > 2 {
				o[i]++
				if x[i] > 3 {
					o[i]++
					if x[i] > 4 {
						o[i]++
						if x[i] > 5 {
							o[i]++
							if x[i] > 6 {
								o[i]++
								if x[i] > 7 {
									o[i]++
									if x[i] > 8 {
										o[i]++
										if x[i] > 9 {
											o[i]++
											if x[i] > 10 {
												o[i]++
												if x[i] > 11 {
													o[i]++
													if x[i] > 12 {
														o[i]++
														if x[i] > 13 {
															o[i]++
															if x[i] > 14 {
																o[i]++
																if x[i] > 15 {
																	o[i]++
																	if x[i] > 16 {
																		o[i]++
																		if x[i] > 17 {
																			o[i]++
																			if x[i] > 18 {
																				o[i]++
																				if x[i] > 19 {
																					o[i]++
																					if x[i] > 20 {
																						o[i]++
																						if x[i] > 21 {
																							o[i]++
																							if x[i] > 22 {
																								o[i]++
																								if x[i] > 23 {
																									o[i]++
																									if x[i] > 24 {
																										o[i]++
																										if x[i] > 25 {
																											o[i]++
																											if x[i] > 26 {
																												o[i]++
																												if x[i] > 27 {
																													o[i]++
																													if x[i] > 28 {
																														o[i]++
																														if x[i] > 29 {
																															o[i]++
																															if x[i] > 30 {
																																o[i]++
																																if x[i] > 31 {
																																	o[i]++
																																	if x[i] > 32 {
																																		o[i]++
																																		if x[i] > 33 {
																																			o[i]++
																																			if x[i] > 34 {
																																				o[i]++
																																				if x[i] > 35 {
																																					o[i]++
																																					if x[i] > 36 {
																																						o[i]++
																																						if x[i] > 37 {
																																							o[i]++
																																							if x[i] > 38 {
																																								o[i]++
																																								if x[i] > 39 {
																																									o[i]++
																																									if x[i] > 40 {
																																										o[i]++
																																										if x[i] > 41 {
																																											o[i]++
																																											if x[i] > 42 {
																																												o[i]++
																																												if x[i] > 43 {
																																													o[i]++
																																													if x[i] > 44 {
																																														o[i]++
																																														if x[i] > 45 {
																																															o[i]++
																																															if x[i] > 46 {
																																																o[i]++
																																																if x[i] > 47 {
																																																	o[i]++
																																																	if x[i] > 48 {
																																																		o[i]++
																																																		if x[i] > 49 {
																																																			o[i]++
																																																			if x[i] > 50 {
																																																				o[i]++
																																																				if x[i] > 51 {
																																																					o[i]++
																																																					if x[i] > 52 {
																																																						o[i]++
																																																						if x[i] > 53 {
																																																							o[i]++
																																																							if x[i] > 54 {
																																																								o[i]++
																																																								if x[i] > 55 {
																																																									o[i]++
																																																									if x[i] > 56 {
																																																										o[i]++
																																																										if x[i] > 57 {
																																																											o[i]++
																																																											if x[i] > 58 {
																																																												o[i]++
																																																												if x[i] > 59 {
																																																													o[i]++
																																																													if x[i] > 60 {
																																																														o[i]++
																																																														if x[i] > 61 {
																																																															o[i]++
																																																															if x[i] > 62 {
																																																																o[i]++
																																																																if x[i] > 63 {
																																																																	o[i]++
																																																																	if x[i] > 64 {
																																																																		o[i]++
																																																																		if x[i] > 65 {
																																																																			o[i]++
																																																																			if x[i] > 66 {
																																																																				o[i]++
																																																																				if x[i] > 67 {
																																																																					o[i]++
																																																																					if x[i] > 68 {
																																																																						o[i]++
																																																																						if x[i] > 69 {
																																																																							o[i]++
																																																																							if x[i] > 70 {
																																																																								o[i]++
																																																																								if x[i] > 71 {
																																																																									o[i]++
																																																																									if x[i] > 72 {
																																																																										o[i]++
																																																																										if x[i] > 73 {
																																																																											o[i]++
																																																																											if x[i] > 74 {
																																																																												o[i]++
																																																																												if x[i] > 75 {
																																																																													o[i]++
																																																																													if x[i] > 76 {
																																																																														o[i]++
																																																																														if x[i] > 77 {
																																																																															o[i]++
																																																																															if x[i] > 78 {
																																																																																o[i]++
																																																																																if x[i] > 79 {
																																																																																	o[i]++
																																																																																	if x[i] > 80 {
																																																																																		o[i]++
																																																																																		if x[i] > 81 {
																																																																																			o[i]++
																																																																																			if x[i] > 82 {
																																																																																				o[i]++
																																																																																				if x[i] > 83 {
																																																																																					o[i]++
																																																																																					if x[i] > 84 {
																																																																																						o[i]++
																																																																																						if x[i] > 85 {
																																																																																							o[i]++
																																																																																							if x[i] > 86 {
																																																																																								o[i]++
																																																																																								if x[i] > 87 {
																																																																																									o[i]++
																																																																																									if x[i] > 88 {
																																																																																										o[i]++
																																																																																										if x[i] > 89 {
																																																																																											o[i]++
																																																																																											if x[i] > 90 {
																																																																																												o[i]++
																																																																																												if x[i] > 91 {
																																																																																													o[i]++
																																																																																													if x[i] > 92 {
																																																																																														o[i]++
																																																																																														if x[i] > 93 {
																																																																																															o[i]++
																																																																																															if x[i] > 94 {
																																																																																																o[i]++
																																																																																																if x[i] > 95 {
																																																																																																	o[i]++
																																																																																																	if x[i] > 96 {
																																																																																																		o[i]++
																																																																																																		if x[i] > 97 {
																																																																																																			o[i]++
																																																																																																			if x[i] > 98 {
																																																																																																				o[i]++
																																																																																																				if x[i] > 99 {
																																																																																																					o[i]++
																																																																																																				} else {
																																																																																																					o[i] += 10000
																																																																																																				}
																																																																																																			} else {
																																																																																																				o[i] += 9900
																																																																																																			}
																																																																																																		} else {
																																																																																																			o[i] += 9800
																																																																																																		}
																																																																																																	} else {
																																																																																																		o[i] += 9700
																																																																																																	}
																																																																																																} else {
																																																																																																	o[i] += 9600
																																																																																																}
																																																																																															} else {
																																																																																																o[i] += 9500
																																																																																															}
																																																																																														} else {
																																																																																															o[i] += 9400
																																																																																														}
																																																																																													} else {
																																																																																														o[i] += 9300
																																																																																													}
																																																																																												} else {
																																																																																													o[i] += 9200
																																																																																												}
																																																																																											} else {
																																																																																												o[i] += 9100
																																																																																											}
																																																																																										} else {
																																																																																											o[i] += 9000
																																																																																										}
																																																																																									} else {
																																																																																										o[i] += 8900
																																																																																									}
																																																																																								} else {
																																																																																									o[i] += 8800
																																																																																								}
																																																																																							} else {
																																																																																								o[i] += 8700
																																																																																							}
																																																																																						} else {
																																																																																							o[i] += 8600
																																																																																						}
																																																																																					} else {
																																																																																						o[i] += 8500
																																																																																					}
																																																																																				} else {
																																																																																					o[i] += 8400
																																																																																				}
																																																																																			} else {
																																																																																				o[i] += 8300
																																																																																			}
																																																																																		} else {
																																																																																			o[i] += 8200
																																																																																		}
																																																																																	} else {
																																																																																		o[i] += 8100
																																																																																	}
																																																																																} else {
																																																																																	o[i] += 8000
																																																																																}
																																																																															} else {
																																																																																o[i] += 7900
																																																																															}
																																																																														} else {
																																																																															o[i] += 7800
																																																																														}
																																																																													} else {
																																																																														o[i] += 7700
																																																																													}
																																																																												} else {
																																																																													o[i] += 7600
																																																																												}
																																																																											} else {
																																																																												o[i] += 7500
																																																																											}
																																																																										} else {
																																																																											o[i] += 7400
																																																																										}
																																																																									} else {
																																																																										o[i] += 7300
																																																																									}
																																																																								} else {
																																																																									o[i] += 7200
																																																																								}
																																																																							} else {
																																																																								o[i] += 7100
																																																																							}
																																																																						} else {
																																																																							o[i] += 7000
																																																																						}
																																																																					} else {
																																																																						o[i] += 6900
																																																																					}
																																																																				} else {
																																																																					o[i] += 6800
																																																																				}
																																																																			} else {
																																																																				o[i] += 6700
																																																																			}
																																																																		} else {
																																																																			o[i] += 6600
																																																																		}
																																																																	} else {
																																																																		o[i] += 6500
																																																																	}
																																																																} else {
																																																																	o[i] += 6400
																																																																}
																																																															} else {
																																																																o[i] += 6300
																																																															}
																																																														} else {
																																																															o[i] += 6200
																																																														}
																																																													} else {
																																																														o[i] += 6100
																																																													}
																																																												} else {
																																																													o[i] += 6000
																																																												}
																																																											} else {
																																																												o[i] += 5900
																																																											}
																																																										} else {
																																																											o[i] += 5800
																																																										}
																																																									} else {
																																																										o[i] += 5700
																																																									}
																																																								} else {
																																																									o[i] += 5600
																																																								}
																																																							} else {
																																																								o[i] += 5500
																																																							}
																																																						} else {
																																																							o[i] += 5400
																																																						}
																																																					} else {
																																																						o[i] += 5300
																																																					}
																																																				} else {
																																																					o[i] += 5200
																																																				}
																																																			} else {
																																																				o[i] += 5100
																																																			}
																																																		} else {
																																																			o[i] += 5000
																																																		}
																																																	} else {
																																																		o[i] += 4900
																																																	}
																																																} else {
																																																	o[i] += 4800
																																																}
																																															} else {
																																																o[i] += 4700
																																															}
																																														} else {
																																															o[i] += 4600
																																														}
																																													} else {
																																														o[i] += 4500
																																													}
																																												} else {
																																													o[i] += 4400
																																												}
																																											} else {
																																												o[i] += 4300
																																											}
																																										} else {
																																											o[i] += 4200
																																										}
																																									} else {
																																										o[i] += 4100
																																									}
																																								} else {
																																									o[i] += 4000
																																								}
																																							} else {
																																								o[i] += 3900
																																							}
																																						} else {
																																							o[i] += 3800
																																						}
																																					} else {
																																						o[i] += 3700
																																					}
																																				} else {
																																					o[i] += 3600
																																				}
																																			} else {
																																				o[i] += 3500
																																			}
																																		} else {
																																			o[i] += 3400
																																		}
																																	} else {
																																		o[i] += 3300
																																	}
																																} else {
																																	o[i] += 3200
																																}
																															} else {
																																o[i] += 3100
																															}
																														} else {
																															o[i] += 3000
																														}
																													} else {
																														o[i] += 2900
																													}
																												} else {
																													o[i] += 2800
																												}
																											} else {
																												o[i] += 2700
																											}
																										} else {
																											o[i] += 2600
																										}
																									} else {
																										o[i] += 2500
																									}
																								} else {
																									o[i] += 2400
																								}
																							} else {
																								o[i] += 2300
																							}
																						} else {
																							o[i] += 2200
																						}
																					} else {
																						o[i] += 2100
																					}
																				} else {
																					o[i] += 2000
																				}
																			} else {
																				o[i] += 1900
																			}
																		} else {
																			o[i] += 1800
																		}
																	} else {
																		o[i] += 1700
																	}
																} else {
																	o[i] += 1600
																}
															} else {
																o[i] += 1500
															}
														} else {
															o[i] += 1400
														}
													} else {
														o[i] += 1300
													}
												} else {
													o[i] += 1200
												}
											} else {
												o[i] += 1100
											}
										} else {
											o[i] += 1000
										}
									} else {
										o[i] += 900
									}
								} else {
									o[i] += 800
								}
							} else {
								o[i] += 700
							}
						} else {
							o[i] += 600
						}
					} else {
						o[i] += 500
					}
				} else {
					o[i] += 400
				}
			} else {
				o[i] += 300
			}
		} else {
			o[i] += 200
		}
	} else {
		o[i] += 100
	}
}

// returns100 returns early from 100 places: a compiler nests what follows each.
//
//halyard:kernel
func returns100(t grid.Thread, x, o []int32) {
	i := t.Global(0)
	if i >= len(o) {
		return
	}
	if x[i] == 0 {
		o[i] += 0
		return
	}
	o[i]++
	if x[i] == 1 {
		o[i] += 100
		return
	}
	o[i]++
	if x[i] == 2 {
		o[i] += 200
		return
	}
	o[i]++
	if x[i] == 3 {
		o[i] += 300
		return
	}
	o[i]++
	if x[i] == 4 {
		o[i] += 400
		return
	}
	o[i]++
	if x[i] == 5 {
		o[i] += 500
		return
	}
	o[i]++
	if x[i] == 6 {
		o[i] += 600
		return
	}
	o[i]++
	if x[i] == 7 {
		o[i] += 700
		return
	}
	o[i]++
	if x[i] == 8 {
		o[i] += 800
		return
	}
	o[i]++
	if x[i] == 9 {
		o[i] += 900
		return
	}
	o[i]++
	if x[i] == 10 {
		o[i] += 1000
		return
	}
	o[i]++
	if x[i] == 11 {
		o[i] += 1100
		return
	}
	o[i]++
	if x[i] == 12 {
		o[i] += 1200
		return
	}
	o[i]++
	if x[i] == 13 {
		o[i] += 1300
		return
	}
	o[i]++
	if x[i] == 14 {
		o[i] += 1400
		return
	}
	o[i]++
	if x[i] == 15 {
		o[i] += 1500
		return
	}
	o[i]++
	if x[i] == 16 {
		o[i] += 1600
		return
	}
	o[i]++
	if x[i] == 17 {
		o[i] += 1700
		return
	}
	o[i]++
	if x[i] == 18 {
		o[i] += 1800
		return
	}
	o[i]++
	if x[i] == 19 {
		o[i] += 1900
		return
	}
	o[i]++
	if x[i] == 20 {
		o[i] += 2000
		return
	}
	o[i]++
	if x[i] == 21 {
		o[i] += 2100
		return
	}
	o[i]++
	if x[i] == 22 {
		o[i] += 2200
		return
	}
	o[i]++
	if x[i] == 23 {
		o[i] += 2300
		return
	}
	o[i]++
	if x[i] == 24 {
		o[i] += 2400
		return
	}
	o[i]++
	if x[i] == 25 {
		o[i] += 2500
		return
	}
	o[i]++
	if x[i] == 26 {
		o[i] += 2600
		return
	}
	o[i]++
	if x[i] == 27 {
		o[i] += 2700
		return
	}
	o[i]++
	if x[i] == 28 {
		o[i] += 2800
		return
	}
	o[i]++
	if x[i] == 29 {
		o[i] += 2900
		return
	}
	o[i]++
	if x[i] == 30 {
		o[i] += 3000
		return
	}
	o[i]++
	if x[i] == 31 {
		o[i] += 3100
		return
	}
	o[i]++
	if x[i] == 32 {
		o[i] += 3200
		return
	}
	o[i]++
	if x[i] == 33 {
		o[i] += 3300
		return
	}
	o[i]++
	if x[i] == 34 {
		o[i] += 3400
		return
	}
	o[i]++
	if x[i] == 35 {
		o[i] += 3500
		return
	}
	o[i]++
	if x[i] == 36 {
		o[i] += 3600
		return
	}
	o[i]++
	if x[i] == 37 {
		o[i] += 3700
		return
	}
	o[i]++
	if x[i] == 38 {
		o[i] += 3800
		return
	}
	o[i]++
	if x[i] == 39 {
		o[i] += 3900
		return
	}
	o[i]++
	if x[i] == 40 {
		o[i] += 4000
		return
	}
	o[i]++
	if x[i] == 41 {
		o[i] += 4100
		return
	}
	o[i]++
	if x[i] == 42 {
		o[i] += 4200
		return
	}
	o[i]++
	if x[i] == 43 {
		o[i] += 4300
		return
	}
	o[i]++
	if x[i] == 44 {
		o[i] += 4400
		return
	}
	o[i]++
	if x[i] == 45 {
		o[i] += 4500
		return
	}
	o[i]++
	if x[i] == 46 {
		o[i] += 4600
		return
	}
	o[i]++
	if x[i] == 47 {
		o[i] += 4700
		return
	}
	o[i]++
	if x[i] == 48 {
		o[i] += 4800
		return
	}
	o[i]++
	if x[i] == 49 {
		o[i] += 4900
		return
	}
	o[i]++
	if x[i] == 50 {
		o[i] += 5000
		return
	}
	o[i]++
	if x[i] == 51 {
		o[i] += 5100
		return
	}
	o[i]++
	if x[i] == 52 {
		o[i] += 5200
		return
	}
	o[i]++
	if x[i] == 53 {
		o[i] += 5300
		return
	}
	o[i]++
	if x[i] == 54 {
		o[i] += 5400
		return
	}
	o[i]++
	if x[i] == 55 {
		o[i] += 5500
		return
	}
	o[i]++
	if x[i] == 56 {
		o[i] += 5600
		return
	}
	o[i]++
	if x[i] == 57 {
		o[i] += 5700
		return
	}
	o[i]++
	if x[i] == 58 {
		o[i] += 5800
		return
	}
	o[i]++
	if x[i] == 59 {
		o[i] += 5900
		return
	}
	o[i]++
	if x[i] == 60 {
		o[i] += 6000
		return
	}
	o[i]++
	if x[i] == 61 {
		o[i] += 6100
		return
	}
	o[i]++
	if x[i] == 62 {
		o[i] += 6200
		return
	}
	o[i]++
	if x[i] == 63 {
		o[i] += 6300
		return
	}
	o[i]++
	if x[i] == 64 {
		o[i] += 6400
		return
	}
	o[i]++
	if x[i] == 65 {
		o[i] += 6500
		return
	}
	o[i]++
	if x[i] == 66 {
		o[i] += 6600
		return
	}
	o[i]++
	if x[i] == 67 {
		o[i] += 6700
		return
	}
	o[i]++
	if x[i] == 68 {
		o[i] += 6800
		return
	}
	o[i]++
	if x[i] == 69 {
		o[i] += 6900
		return
	}
	o[i]++
	if x[i] == 70 {
		o[i] += 7000
		return
	}
	o[i]++
	if x[i] == 71 {
		o[i] += 7100
		return
	}
	o[i]++
	if x[i] == 72 {
		o[i] += 7200
		return
	}
	o[i]++
	if x[i] == 73 {
		o[i] += 7300
		return
	}
	o[i]++
	if x[i] == 74 {
		o[i] += 7400
		return
	}
	o[i]++
	if x[i] == 75 {
		o[i] += 7500
		return
	}
	o[i]++
	if x[i] == 76 {
		o[i] += 7600
		return
	}
	o[i]++
	if x[i] == 77 {
		o[i] += 7700
		return
	}
	o[i]++
	if x[i] == 78 {
		o[i] += 7800
		return
	}
	o[i]++
	if x[i] == 79 {
		o[i] += 7900
		return
	}
	o[i]++
	if x[i] == 80 {
		o[i] += 8000
		return
	}
	o[i]++
	if x[i] == 81 {
		o[i] += 8100
		return
	}
	o[i]++
	if x[i] == 82 {
		o[i] += 8200
		return
	}
	o[i]++
	if x[i] == 83 {
		o[i] += 8300
		return
	}
	o[i]++
	if x[i] == 84 {
		o[i] += 8400
		return
	}
	o[i]++
	if x[i] == 85 {
		o[i] += 8500
		return
	}
	o[i]++
	if x[i] == 86 {
		o[i] += 8600
		return
	}
	o[i]++
	if x[i] == 87 {
		o[i] += 8700
		return
	}
	o[i]++
	if x[i] == 88 {
		o[i] += 8800
		return
	}
	o[i]++
	if x[i] == 89 {
		o[i] += 8900
		return
	}
	o[i]++
	if x[i] == 90 {
		o[i] += 9000
		return
	}
	o[i]++
	if x[i] == 91 {
		o[i] += 9100
		return
	}
	o[i]++
	if x[i] == 92 {
		o[i] += 9200
		return
	}
	o[i]++
	if x[i] == 93 {
		o[i] += 9300
		return
	}
	o[i]++
	if x[i] == 94 {
		o[i] += 9400
		return
	}
	o[i]++
	if x[i] == 95 {
		o[i] += 9500
		return
	}
	o[i]++
	if x[i] == 96 {
		o[i] += 9600
		return
	}
	o[i]++
	if x[i] == 97 {
		o[i] += 9700
		return
	}
	o[i]++
	if x[i] == 98 {
		o[i] += 9800
		return
	}
	o[i]++
	if x[i] == 99 {
		o[i] += 9900
		return
	}
	o[i]++
}

// switched has a switch of 300 values, which is flat.
//
//halyard:kernel
func switched(t grid.Thread, x, o []int32) {
	i := t.Global(0)
	if i >= len(o) {
		return
	}
	switch x[i] {
	case 0:
		o[i] = 1
	case 1:
		o[i] = 8
	case 2:
		o[i] = 15
	case 3:
		o[i] = 22
	case 4:
		o[i] = 29
	case 5:
		o[i] = 36
	case 6:
		o[i] = 43
	case 7:
		o[i] = 50
	case 8:
		o[i] = 57
	case 9:
		o[i] = 64
	case 10:
		o[i] = 71
	case 11:
		o[i] = 78
	case 12:
		o[i] = 85
	case 13:
		o[i] = 92
	case 14:
		o[i] = 99
	case 15:
		o[i] = 106
	case 16:
		o[i] = 113
	case 17:
		o[i] = 120
	case 18:
		o[i] = 127
	case 19:
		o[i] = 134
	case 20:
		o[i] = 141
	case 21:
		o[i] = 148
	case 22:
		o[i] = 155
	case 23:
		o[i] = 162
	case 24:
		o[i] = 169
	case 25:
		o[i] = 176
	case 26:
		o[i] = 183
	case 27:
		o[i] = 190
	case 28:
		o[i] = 197
	case 29:
		o[i] = 204
	case 30:
		o[i] = 211
	case 31:
		o[i] = 218
	case 32:
		o[i] = 225
	case 33:
		o[i] = 232
	case 34:
		o[i] = 239
	case 35:
		o[i] = 246
	case 36:
		o[i] = 253
	case 37:
		o[i] = 260
	case 38:
		o[i] = 267
	case 39:
		o[i] = 274
	case 40:
		o[i] = 281
	case 41:
		o[i] = 288
	case 42:
		o[i] = 295
	case 43:
		o[i] = 302
	case 44:
		o[i] = 309
	case 45:
		o[i] = 316
	case 46:
		o[i] = 323
	case 47:
		o[i] = 330
	case 48:
		o[i] = 337
	case 49:
		o[i] = 344
	case 50:
		o[i] = 351
	case 51:
		o[i] = 358
	case 52:
		o[i] = 365
	case 53:
		o[i] = 372
	case 54:
		o[i] = 379
	case 55:
		o[i] = 386
	case 56:
		o[i] = 393
	case 57:
		o[i] = 400
	case 58:
		o[i] = 407
	case 59:
		o[i] = 414
	case 60:
		o[i] = 421
	case 61:
		o[i] = 428
	case 62:
		o[i] = 435
	case 63:
		o[i] = 442
	case 64:
		o[i] = 449
	case 65:
		o[i] = 456
	case 66:
		o[i] = 463
	case 67:
		o[i] = 470
	case 68:
		o[i] = 477
	case 69:
		o[i] = 484
	case 70:
		o[i] = 491
	case 71:
		o[i] = 498
	case 72:
		o[i] = 505
	case 73:
		o[i] = 512
	case 74:
		o[i] = 519
	case 75:
		o[i] = 526
	case 76:
		o[i] = 533
	case 77:
		o[i] = 540
	case 78:
		o[i] = 547
	case 79:
		o[i] = 554
	case 80:
		o[i] = 561
	case 81:
		o[i] = 568
	case 82:
		o[i] = 575
	case 83:
		o[i] = 582
	case 84:
		o[i] = 589
	case 85:
		o[i] = 596
	case 86:
		o[i] = 603
	case 87:
		o[i] = 610
	case 88:
		o[i] = 617
	case 89:
		o[i] = 624
	case 90:
		o[i] = 631
	case 91:
		o[i] = 638
	case 92:
		o[i] = 645
	case 93:
		o[i] = 652
	case 94:
		o[i] = 659
	case 95:
		o[i] = 666
	case 96:
		o[i] = 673
	case 97:
		o[i] = 680
	case 98:
		o[i] = 687
	case 99:
		o[i] = 694
	case 100:
		o[i] = 701
	case 101:
		o[i] = 708
	case 102:
		o[i] = 715
	case 103:
		o[i] = 722
	case 104:
		o[i] = 729
	case 105:
		o[i] = 736
	case 106:
		o[i] = 743
	case 107:
		o[i] = 750
	case 108:
		o[i] = 757
	case 109:
		o[i] = 764
	case 110:
		o[i] = 771
	case 111:
		o[i] = 778
	case 112:
		o[i] = 785
	case 113:
		o[i] = 792
	case 114:
		o[i] = 799
	case 115:
		o[i] = 806
	case 116:
		o[i] = 813
	case 117:
		o[i] = 820
	case 118:
		o[i] = 827
	case 119:
		o[i] = 834
	case 120:
		o[i] = 841
	case 121:
		o[i] = 848
	case 122:
		o[i] = 855
	case 123:
		o[i] = 862
	case 124:
		o[i] = 869
	case 125:
		o[i] = 876
	case 126:
		o[i] = 883
	case 127:
		o[i] = 890
	case 128:
		o[i] = 897
	case 129:
		o[i] = 904
	case 130:
		o[i] = 911
	case 131:
		o[i] = 918
	case 132:
		o[i] = 925
	case 133:
		o[i] = 932
	case 134:
		o[i] = 939
	case 135:
		o[i] = 946
	case 136:
		o[i] = 953
	case 137:
		o[i] = 960
	case 138:
		o[i] = 967
	case 139:
		o[i] = 974
	case 140:
		o[i] = 981
	case 141:
		o[i] = 988
	case 142:
		o[i] = 995
	case 143:
		o[i] = 1002
	case 144:
		o[i] = 1009
	case 145:
		o[i] = 1016
	case 146:
		o[i] = 1023
	case 147:
		o[i] = 1030
	case 148:
		o[i] = 1037
	case 149:
		o[i] = 1044
	case 150:
		o[i] = 1051
	case 151:
		o[i] = 1058
	case 152:
		o[i] = 1065
	case 153:
		o[i] = 1072
	case 154:
		o[i] = 1079
	case 155:
		o[i] = 1086
	case 156:
		o[i] = 1093
	case 157:
		o[i] = 1100
	case 158:
		o[i] = 1107
	case 159:
		o[i] = 1114
	case 160:
		o[i] = 1121
	case 161:
		o[i] = 1128
	case 162:
		o[i] = 1135
	case 163:
		o[i] = 1142
	case 164:
		o[i] = 1149
	case 165:
		o[i] = 1156
	case 166:
		o[i] = 1163
	case 167:
		o[i] = 1170
	case 168:
		o[i] = 1177
	case 169:
		o[i] = 1184
	case 170:
		o[i] = 1191
	case 171:
		o[i] = 1198
	case 172:
		o[i] = 1205
	case 173:
		o[i] = 1212
	case 174:
		o[i] = 1219
	case 175:
		o[i] = 1226
	case 176:
		o[i] = 1233
	case 177:
		o[i] = 1240
	case 178:
		o[i] = 1247
	case 179:
		o[i] = 1254
	case 180:
		o[i] = 1261
	case 181:
		o[i] = 1268
	case 182:
		o[i] = 1275
	case 183:
		o[i] = 1282
	case 184:
		o[i] = 1289
	case 185:
		o[i] = 1296
	case 186:
		o[i] = 1303
	case 187:
		o[i] = 1310
	case 188:
		o[i] = 1317
	case 189:
		o[i] = 1324
	case 190:
		o[i] = 1331
	case 191:
		o[i] = 1338
	case 192:
		o[i] = 1345
	case 193:
		o[i] = 1352
	case 194:
		o[i] = 1359
	case 195:
		o[i] = 1366
	case 196:
		o[i] = 1373
	case 197:
		o[i] = 1380
	case 198:
		o[i] = 1387
	case 199:
		o[i] = 1394
	case 200:
		o[i] = 1401
	case 201:
		o[i] = 1408
	case 202:
		o[i] = 1415
	case 203:
		o[i] = 1422
	case 204:
		o[i] = 1429
	case 205:
		o[i] = 1436
	case 206:
		o[i] = 1443
	case 207:
		o[i] = 1450
	case 208:
		o[i] = 1457
	case 209:
		o[i] = 1464
	case 210:
		o[i] = 1471
	case 211:
		o[i] = 1478
	case 212:
		o[i] = 1485
	case 213:
		o[i] = 1492
	case 214:
		o[i] = 1499
	case 215:
		o[i] = 1506
	case 216:
		o[i] = 1513
	case 217:
		o[i] = 1520
	case 218:
		o[i] = 1527
	case 219:
		o[i] = 1534
	case 220:
		o[i] = 1541
	case 221:
		o[i] = 1548
	case 222:
		o[i] = 1555
	case 223:
		o[i] = 1562
	case 224:
		o[i] = 1569
	case 225:
		o[i] = 1576
	case 226:
		o[i] = 1583
	case 227:
		o[i] = 1590
	case 228:
		o[i] = 1597
	case 229:
		o[i] = 1604
	case 230:
		o[i] = 1611
	case 231:
		o[i] = 1618
	case 232:
		o[i] = 1625
	case 233:
		o[i] = 1632
	case 234:
		o[i] = 1639
	case 235:
		o[i] = 1646
	case 236:
		o[i] = 1653
	case 237:
		o[i] = 1660
	case 238:
		o[i] = 1667
	case 239:
		o[i] = 1674
	case 240:
		o[i] = 1681
	case 241:
		o[i] = 1688
	case 242:
		o[i] = 1695
	case 243:
		o[i] = 1702
	case 244:
		o[i] = 1709
	case 245:
		o[i] = 1716
	case 246:
		o[i] = 1723
	case 247:
		o[i] = 1730
	case 248:
		o[i] = 1737
	case 249:
		o[i] = 1744
	case 250:
		o[i] = 1751
	case 251:
		o[i] = 1758
	case 252:
		o[i] = 1765
	case 253:
		o[i] = 1772
	case 254:
		o[i] = 1779
	case 255:
		o[i] = 1786
	case 256:
		o[i] = 1793
	case 257:
		o[i] = 1800
	case 258:
		o[i] = 1807
	case 259:
		o[i] = 1814
	case 260:
		o[i] = 1821
	case 261:
		o[i] = 1828
	case 262:
		o[i] = 1835
	case 263:
		o[i] = 1842
	case 264:
		o[i] = 1849
	case 265:
		o[i] = 1856
	case 266:
		o[i] = 1863
	case 267:
		o[i] = 1870
	case 268:
		o[i] = 1877
	case 269:
		o[i] = 1884
	case 270:
		o[i] = 1891
	case 271:
		o[i] = 1898
	case 272:
		o[i] = 1905
	case 273:
		o[i] = 1912
	case 274:
		o[i] = 1919
	case 275:
		o[i] = 1926
	case 276:
		o[i] = 1933
	case 277:
		o[i] = 1940
	case 278:
		o[i] = 1947
	case 279:
		o[i] = 1954
	case 280:
		o[i] = 1961
	case 281:
		o[i] = 1968
	case 282:
		o[i] = 1975
	case 283:
		o[i] = 1982
	case 284:
		o[i] = 1989
	case 285:
		o[i] = 1996
	case 286:
		o[i] = 2003
	case 287:
		o[i] = 2010
	case 288:
		o[i] = 2017
	case 289:
		o[i] = 2024
	case 290:
		o[i] = 2031
	case 291:
		o[i] = 2038
	case 292:
		o[i] = 2045
	case 293:
		o[i] = 2052
	case 294:
		o[i] = 2059
	case 295:
		o[i] = 2066
	case 296:
		o[i] = 2073
	case 297:
		o[i] = 2080
	case 298:
		o[i] = 2087
	case 299:
		o[i] = 2094
	default:
		o[i] = -1
	}
}

// ladder has 120 conditions one after the other, which are flat; the loop is left within.
//
//halyard:kernel
func ladder(t grid.Thread, x, o []int32) {
	i := t.Global(0)
	if i >= len(o) {
		return
	}
	for k := range int32(3) {
		if x[i] > 1000 {
			break
		} else if x[i]+k == 0 {
			o[i] += 1
		} else if x[i]+k == 1 {
			o[i] += 2
		} else if x[i]+k == 2 {
			o[i] += 3
		} else if x[i]+k == 3 {
			break
		} else if x[i]+k == 4 {
			o[i] += 5
		} else if x[i]+k == 5 {
			o[i] += 6
		} else if x[i]+k == 6 {
			o[i] += 7
		} else if x[i]+k == 7 {
			o[i] += 8
		} else if x[i]+k == 8 {
			o[i] += 9
		} else if x[i]+k == 9 {
			o[i] += 10
		} else if x[i]+k == 10 {
			break
		} else if x[i]+k == 11 {
			o[i] += 12
		} else if x[i]+k == 12 {
			o[i] += 13
		} else if x[i]+k == 13 {
			o[i] += 14
		} else if x[i]+k == 14 {
			o[i] += 15
		} else if x[i]+k == 15 {
			o[i] += 16
		} else if x[i]+k == 16 {
			o[i] += 17
		} else if x[i]+k == 17 {
			break
		} else if x[i]+k == 18 {
			o[i] += 19
		} else if x[i]+k == 19 {
			o[i] += 20
		} else if x[i]+k == 20 {
			o[i] += 21
		} else if x[i]+k == 21 {
			o[i] += 22
		} else if x[i]+k == 22 {
			o[i] += 23
		} else if x[i]+k == 23 {
			o[i] += 24
		} else if x[i]+k == 24 {
			break
		} else if x[i]+k == 25 {
			o[i] += 26
		} else if x[i]+k == 26 {
			o[i] += 27
		} else if x[i]+k == 27 {
			o[i] += 28
		} else if x[i]+k == 28 {
			o[i] += 29
		} else if x[i]+k == 29 {
			o[i] += 30
		} else if x[i]+k == 30 {
			o[i] += 31
		} else if x[i]+k == 31 {
			break
		} else if x[i]+k == 32 {
			o[i] += 33
		} else if x[i]+k == 33 {
			o[i] += 34
		} else if x[i]+k == 34 {
			o[i] += 35
		} else if x[i]+k == 35 {
			o[i] += 36
		} else if x[i]+k == 36 {
			o[i] += 37
		} else if x[i]+k == 37 {
			o[i] += 38
		} else if x[i]+k == 38 {
			break
		} else if x[i]+k == 39 {
			o[i] += 40
		} else if x[i]+k == 40 {
			o[i] += 41
		} else if x[i]+k == 41 {
			o[i] += 42
		} else if x[i]+k == 42 {
			o[i] += 43
		} else if x[i]+k == 43 {
			o[i] += 44
		} else if x[i]+k == 44 {
			o[i] += 45
		} else if x[i]+k == 45 {
			break
		} else if x[i]+k == 46 {
			o[i] += 47
		} else if x[i]+k == 47 {
			o[i] += 48
		} else if x[i]+k == 48 {
			o[i] += 49
		} else if x[i]+k == 49 {
			o[i] += 50
		} else if x[i]+k == 50 {
			o[i] += 51
		} else if x[i]+k == 51 {
			o[i] += 52
		} else if x[i]+k == 52 {
			break
		} else if x[i]+k == 53 {
			o[i] += 54
		} else if x[i]+k == 54 {
			o[i] += 55
		} else if x[i]+k == 55 {
			o[i] += 56
		} else if x[i]+k == 56 {
			o[i] += 57
		} else if x[i]+k == 57 {
			o[i] += 58
		} else if x[i]+k == 58 {
			o[i] += 59
		} else if x[i]+k == 59 {
			break
		} else if x[i]+k == 60 {
			o[i] += 61
		} else if x[i]+k == 61 {
			o[i] += 62
		} else if x[i]+k == 62 {
			o[i] += 63
		} else if x[i]+k == 63 {
			o[i] += 64
		} else if x[i]+k == 64 {
			o[i] += 65
		} else if x[i]+k == 65 {
			o[i] += 66
		} else if x[i]+k == 66 {
			break
		} else if x[i]+k == 67 {
			o[i] += 68
		} else if x[i]+k == 68 {
			o[i] += 69
		} else if x[i]+k == 69 {
			o[i] += 70
		} else if x[i]+k == 70 {
			o[i] += 71
		} else if x[i]+k == 71 {
			o[i] += 72
		} else if x[i]+k == 72 {
			o[i] += 73
		} else if x[i]+k == 73 {
			break
		} else if x[i]+k == 74 {
			o[i] += 75
		} else if x[i]+k == 75 {
			o[i] += 76
		} else if x[i]+k == 76 {
			o[i] += 77
		} else if x[i]+k == 77 {
			o[i] += 78
		} else if x[i]+k == 78 {
			o[i] += 79
		} else if x[i]+k == 79 {
			o[i] += 80
		} else if x[i]+k == 80 {
			break
		} else if x[i]+k == 81 {
			o[i] += 82
		} else if x[i]+k == 82 {
			o[i] += 83
		} else if x[i]+k == 83 {
			o[i] += 84
		} else if x[i]+k == 84 {
			o[i] += 85
		} else if x[i]+k == 85 {
			o[i] += 86
		} else if x[i]+k == 86 {
			o[i] += 87
		} else if x[i]+k == 87 {
			break
		} else if x[i]+k == 88 {
			o[i] += 89
		} else if x[i]+k == 89 {
			o[i] += 90
		} else if x[i]+k == 90 {
			o[i] += 91
		} else if x[i]+k == 91 {
			o[i] += 92
		} else if x[i]+k == 92 {
			o[i] += 93
		} else if x[i]+k == 93 {
			o[i] += 94
		} else if x[i]+k == 94 {
			break
		} else if x[i]+k == 95 {
			o[i] += 96
		} else if x[i]+k == 96 {
			o[i] += 97
		} else if x[i]+k == 97 {
			o[i] += 98
		} else if x[i]+k == 98 {
			o[i] += 99
		} else if x[i]+k == 99 {
			o[i] += 100
		} else if x[i]+k == 100 {
			o[i] += 101
		} else if x[i]+k == 101 {
			break
		} else if x[i]+k == 102 {
			o[i] += 103
		} else if x[i]+k == 103 {
			o[i] += 104
		} else if x[i]+k == 104 {
			o[i] += 105
		} else if x[i]+k == 105 {
			o[i] += 106
		} else if x[i]+k == 106 {
			o[i] += 107
		} else if x[i]+k == 107 {
			o[i] += 108
		} else if x[i]+k == 108 {
			break
		} else if x[i]+k == 109 {
			o[i] += 110
		} else if x[i]+k == 110 {
			o[i] += 111
		} else if x[i]+k == 111 {
			o[i] += 112
		} else if x[i]+k == 112 {
			o[i] += 113
		} else if x[i]+k == 113 {
			o[i] += 114
		} else if x[i]+k == 114 {
			o[i] += 115
		} else if x[i]+k == 115 {
			break
		} else if x[i]+k == 116 {
			o[i] += 117
		} else if x[i]+k == 117 {
			o[i] += 118
		} else if x[i]+k == 118 {
			o[i] += 119
		}
		o[i]++
	}
}
