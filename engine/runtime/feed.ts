// The feed of one process: hands the events of settled batches to `/ws` and other listeners.
import type { DeviceId } from '../../schemas/ids.ts'
import type { Feed, FeedEvent, Want, Wants } from '../ports/feed.ts'

const NO_DEVICES: Want = { all: false, devices: new Set() }
export const NO_WANTS: Wants = { telemetry: NO_DEVICES, timeline: NO_DEVICES, log: NO_DEVICES }

export function isWanted({ all, devices }: Want, deviceId: DeviceId): boolean {
  return all || devices.has(deviceId)
}

interface Listener {
  readonly take: (events: readonly FeedEvent[]) => void
  readonly missed: () => void
}

export class LocalFeed implements Feed {
  readonly #listeners = new Set<Listener>()
  readonly #onWant: (wants: Wants) => void
  readonly #onError: (error: unknown) => void

  /** `onError` is called when a listener throws. */
  constructor(onWant: (wants: Wants) => void, onError: (error: unknown) => void) {
    this.#onWant = onWant
    this.#onError = onError
  }

  listen(take: Listener['take'], missed: Listener['missed'] = () => {}): () => void {
    const listener = { take, missed }
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  want({ telemetry, timeline, log }: Wants): void {
    this.#onWant({ telemetry: copied(telemetry), timeline: copied(timeline), log: copied(log) })
  }

  publish(events: readonly FeedEvent[]): void {
    if (events.length > 0) this.#tell(({ take }) => take(events))
  }

  /** Events were lost before they came here. */
  missed(): void {
    this.#tell(({ missed }) => missed())
  }

  #tell(tell: (listener: Listener) => void): void {
    for (const listener of this.#listeners)
      try {
        tell(listener)
      } catch (error) {
        // A bug in one listener must not affect the other listeners or the engine.
        this.#onError(error)
      }
  }
}

/** Copies the sets, because the caller may change them later. */
function copied({ all, devices }: Want): Want {
  return { all, devices: new Set(devices) }
}
