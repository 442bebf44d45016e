// The list of devices that a person came from: `[` and `]` walk along it.
import { signal } from '@preact/signals'

const IDS_MAX = 5000
const ids = signal<readonly string[]>([])

/** Remembers the list, in the order that it was shown in. */
export function rememberDevices(list: readonly string[]): void {
  ids.value = list.slice(0, IDS_MAX)
}

/** The one before or after it; undefined at the ends. A device that is not in the list has its place among `all`. */
export function neighbourOf(deviceId: string, step: -1 | 1, all: readonly string[]): string | undefined {
  const list = ids.value.includes(deviceId) ? ids.value : [...all].sort()
  const at = list.indexOf(deviceId)
  return at === -1 ? undefined : list[at + step]
}
