// The device's side of its shadow: applies what is desired and reports what is.
//
// D1. Each message holds the whole difference. So only the newest counts, and older versions are ignored.
// - After each connect the device asks for its shadow, because the broker may hand out an outdated message.
// - What was applied is reported with the shadow's version. If the shadow has changed meanwhile, the report is refused, and
//   sent again for the version that the shadow has then. The last try names none, so that it is taken in any case.
import { isObject, type JsonObject } from '../../../schemas/json.ts'
import { JoinedReports } from './joined-reports.ts'

/** Applies the difference and returns what the device reports then: a merge patch, in which null removes a field. */
export type DesiredHandler = (
  delta: JsonObject,
  about: { readonly version: number },
) => JsonObject | undefined | Promise<JsonObject | undefined>

export interface DesiredPorts {
  /** Publishes a patch of the reported state on `shadow/reported`. */
  readonly report: (body: JsonObject) => void
  /** Publishes on `shadow/get`. */
  readonly ask: () => void
  readonly newToken: () => string
  readonly failed: (error: unknown) => void
}

interface VersionedDelta {
  readonly version: number
  readonly delta: JsonObject
}

interface Report {
  readonly patch: JsonObject
  /** True if it is about a difference that was applied, and not what the device says by itself. */
  readonly namesVersion: boolean
  readonly resolve: (version: number) => void
  readonly reject: (error: Error) => void
  tries: number
}

const TRIES_MAX = 5

export class DesiredState {
  readonly #ports: DesiredPorts
  readonly #reports = new Map<string, Report>()
  readonly #applied: JoinedReports
  #handler: DesiredHandler | undefined
  #seen = -1
  /** The newest that is known; the device's own reports raise it, too. */
  #version = -1
  /** The newest difference that is not applied yet. */
  #wanted: VersionedDelta | undefined
  #isApplying = false

  constructor(ports: DesiredPorts) {
    this.#ports = ports
    this.#applied = new JoinedReports((patch) => this.#begin(patch, true), ports.failed)
  }

  handle(handler: DesiredHandler): void {
    this.#handler = handler
  }

  connected(): void {
    this.#ports.ask()
    // What was on its way when the connection broke may be lost.
    for (const [token, report] of this.#reports) this.#send(token, report)
  }

  /** Resolves with the shadow's version once the service has taken the report. */
  report(patch: JsonObject): Promise<number> {
    return this.#begin(patch, false)
  }

  /** A message on `shadow/desired`. */
  desired({ version, state }: JsonObject): void {
    if (typeof version !== 'number') return
    this.#version = Math.max(this.#version, version)
    if (version <= this.#seen) return
    this.#seen = version
    this.#wanted = isObject(state) && Object.keys(state).length > 0 ? { version, delta: state } : undefined
    void this.#apply()
  }

  /** A message on `shadow/get/accepted`. */
  document({ version, delta }: JsonObject): void {
    this.desired({ version: version ?? null, state: delta ?? null })
    if (typeof version === 'number') this.#version = version
    for (const [token, report] of this.#reports) if (report.tries > 1) this.#send(token, report)
  }

  accepted({ client_token: token, version }: JsonObject): void {
    if (typeof version === 'number') this.#version = Math.max(this.#version, version)
    if (typeof token !== 'string') return
    this.#reports.get(token)?.resolve(typeof version === 'number' ? version : this.#seen)
    this.#reports.delete(token)
  }

  rejected({ client_token: token, status, code, detail }: JsonObject): void {
    const report = typeof token === 'string' ? this.#reports.get(token) : undefined
    if (typeof token !== 'string' || report === undefined) return
    if (status === 409 && report.tries++ < TRIES_MAX) {
      // Read again first: the answer leads to another try.
      this.#ports.ask()
      return
    }
    this.#reports.delete(token)
    report.reject(
      new Error(`the report was refused: ${String(code ?? status)} ${String(detail ?? '')}`.trim()),
    )
  }

  /** Gives up the reports that nobody will answer any more. */
  close(): void {
    for (const { reject } of this.#reports.values()) reject(new Error('the device was closed'))
    this.#reports.clear()
  }

  #begin(patch: JsonObject, namesVersion: boolean): Promise<number> {
    return new Promise((resolve, reject) => {
      const token = this.#ports.newToken()
      const report = { patch, namesVersion, resolve, reject, tries: 1 }
      this.#reports.set(token, report)
      this.#send(token, report)
    })
  }

  #send(token: string, { patch, namesVersion, tries }: Report): void {
    const isLast = tries === TRIES_MAX
    const version = namesVersion && !isLast ? { version: this.#version } : {}
    this.#ports.report({ state: patch, ...version, client_token: token })
  }

  /** One difference at a time. What arrives meanwhile replaces what waits (D1). */
  async #apply(): Promise<void> {
    if (this.#isApplying || this.#handler === undefined) return
    this.#isApplying = true
    while (this.#wanted !== undefined) {
      const { delta, version } = this.#wanted
      this.#wanted = undefined
      try {
        const patch = await this.#handler(delta, { version })
        if (patch !== undefined && Object.keys(patch).length > 0) this.#applied.add(patch)
      } catch (error) {
        this.#ports.failed(error)
      }
    }
    this.#isApplying = false
  }
}
