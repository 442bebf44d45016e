// A profile is a named choice of adapters; only here are they chosen (R13).

import type { Settings } from '../settings/settings.ts'
import type { OpenProfile, ProfilePorts } from './profile.ts'

/** Loads what the profile needs, and no other: an installation may lack the packages of the rest. */
export async function openProfile(settings: Settings, ports: ProfilePorts): Promise<OpenProfile> {
  const { profile } = settings
  if (profile.kind === 'embedded') {
    const { openEmbedded } = await import('./embedded.ts')
    return openEmbedded({ ...settings, profile }, ports)
  }
  const { openCluster } = await import('./cluster.ts')
  return openCluster({ ...settings, profile }, ports)
}
