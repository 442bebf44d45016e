// Counts the devices of a target before anything is sent to them.
import type { DeviceSummary } from '../../engine/ports/store.ts'
import { PREVIEW_LIMITS, type TargetPreview } from '../../schemas/target-preview.ts'

/** `reasonOf` returns why a device is skipped, or undefined if it is not. */
export function targetPreview(
  devices: Iterable<DeviceSummary>,
  reasonOf: (device: DeviceSummary) => string | undefined,
): TargetPreview {
  const skipped: TargetPreview['skipped'] = []
  const sample: TargetPreview['sample'] = []
  const [reasons, statuses, types] = [new Counter(), new Counter(), new Counter()]
  let [total, accepted] = [0, 0]
  for (const device of devices) {
    total++
    const { id, name, type, status, group = null } = device
    const reason = reasonOf(device)
    if (reason !== undefined) {
      reasons.add(reason)
      if (skipped.length < PREVIEW_LIMITS.skippedMax) skipped.push({ device_id: id, reason })
      continue
    }
    accepted++
    statuses.add(status)
    types.add(type)
    if (sample.length < PREVIEW_LIMITS.sampleMax) sample.push({ device_id: id, name, type, status, group })
  }
  return {
    total,
    accepted,
    skipped,
    by_reason: reasons.counts(),
    by_status: statuses.counts(),
    by_type: types.counts(),
    sample,
  }
}

/** Counts by name. Types may have any name, so names are keys of a Map. */
class Counter {
  readonly #counts = new Map<string, number>()

  add(word: string): void {
    this.#counts.set(word, (this.#counts.get(word) ?? 0) + 1)
  }

  counts(): Record<string, number> {
    return Object.fromEntries(this.#counts)
  }
}
