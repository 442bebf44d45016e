// The faults that keep a device in `error`: one per name, from its first report until the device leaves that status.
import { LIMITS } from '../../limits.ts'
import type { NamedFault } from '../telemetry/diagnostics.ts'
import type { DeviceRecord } from './record.ts'

type Faulty = Pick<DeviceRecord, 'issues' | 'faultNames'>

/** The names of the record's `issues`, in their order. */
export function faultNamesOf({ issues, faultNames }: Faulty): readonly string[] {
  // Records saved without names have them at the beginning of the texts.
  return faultNames ?? issues.map((issue) => issue.split(': ', 1)[0] ?? issue)
}

/** Adds faults, or updates the texts of known ones. Returns `device` itself if nothing changes. Names beyond the limit are
 *  not stored, but the device is in `error` all the same. */
export function withFaults<D extends Faulty>(device: D, faults: readonly NamedFault[]): D {
  const names = [...faultNamesOf(device)]
  const issues = [...device.issues]
  let isChanged = false
  for (const { name, text } of faults) {
    const known = names.indexOf(name)
    const at = known === -1 ? names.length : known
    if (at >= LIMITS.deviceFaultsMax || issues[at] === text) continue
    names[at] = name
    issues[at] = text
    isChanged = true
  }
  return isChanged ? { ...device, issues, faultNames: names } : device
}

/** The same device without faults. */
export function withoutFaults<D extends Faulty>(device: D): D {
  return device.issues.length === 0 ? device : { ...device, issues: [], faultNames: undefined }
}
