// A profile is a named choice of adapters; only here are they chosen (R13).
import type { OpenProfile, ProfileMeans } from './profiles/profile.ts'
import type { Settings } from './settings/settings.ts'

/** Loads what the profile needs, and no other: an installation may lack the packages of the rest. */
export async function openProfile(settings: Settings, means: ProfileMeans): Promise<OpenProfile> {
  const { profile } = settings
  if (profile.kind === 'embedded') {
    const { openEmbedded } = await import('./profiles/embedded.ts')
    return openEmbedded({ ...settings, profile }, means)
  }
  const { openCluster } = await import('./profiles/cluster.ts')
  return openCluster({ ...settings, profile }, means)
}
