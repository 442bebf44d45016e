// Opens the configured profile. A profile is a named choice of adapters, and only profiles choose them (R13).

import type { Settings } from '../settings/settings.ts'
import type { OpenProfile, ProfilePorts } from './profile.ts'

/** Loads only the modules of this profile, because an installation may lack the packages of the other. */
export async function openProfile(settings: Settings, ports: ProfilePorts): Promise<OpenProfile> {
  const { profile } = settings
  if (profile.kind === 'embedded') {
    const { openEmbedded } = await import('./embedded.ts')
    return openEmbedded({ ...settings, profile }, ports)
  }
  const { openCluster } = await import('./cluster.ts')
  return openCluster({ ...settings, profile }, ports)
}
