// The device's side of its shadow: applies the desired state and reports the actual one.
//
// D1. Each message has the complete difference. So only the newest counts, and older versions are ignored.
// - After each connect the device asks for its shadow, because the broker may deliver an outdated message.
// - An applied difference is reported with the version of the shadow. If the shadow has changed meanwhile, the report is refused and
//   sent again for the new version. The last try names no version, so that it is always accepted.
import { isObject, type JsonObject } from '../../../schemas/json.ts'
import { JoinedReports } from './joined-reports.ts'

/** Applies the difference and returns what the device then reports: a merge patch, in which null removes a field. */
export type DesiredHandler = (
  delta: JsonObject,
  about: { readonly version: number },
) => JsonObject | undefined | Promise<JsonObject | undefined>

export interface DesiredPorts {
  /** Publishes a patch of the reported state on `shadow/reported`. Resolves once the service has it, over whichever connection;
   *  rejects if it will never be sent. */
  readonly report: (body: JsonObject) => Promise<void>
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
  /** True for the report of an applied difference, false for one that the device makes on its own. */
  readonly namesVersion: boolean
  readonly resolve: (version: number) => void
  readonly reject: (error: Error) => void
  tries: number
  /** True once the service has the report. Until then it is on its way there. */
  hasArrived: boolean
}

const TRIES_MAX = 5

export class DesiredState {
  readonly #ports: DesiredPorts
  readonly #reports = new Map<string, Report>()
  readonly #applied: JoinedReports
  #handler: DesiredHandler | undefined
  #seen = -1
  /** The newest known version; the device's own reports raise it, too. */
  #version = -1
  /** The newest difference that has not been applied yet. */
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
    // An answer may have been lost with the connection. Reports that have not arrived are sent anyway.
    for (const [token, report] of this.#reports) if (report.hasArrived) this.#send(token, report)
  }

  /** Resolves with the version of the shadow once the service has accepted the report. */
  report(patch: JsonObject): Promise<number> {
    return this.#begin(patch, false)
  }

  /** Takes a message on `shadow/desired`. */
  desired({ version, state }: JsonObject): void {
    if (typeof version !== 'number') return
    this.#version = Math.max(this.#version, version)
    if (version <= this.#seen) return
    this.#seen = version
    this.#wanted = isObject(state) && Object.keys(state).length > 0 ? { version, delta: state } : undefined
    void this.#apply()
  }

  /** Takes a message on `shadow/get/accepted`. */
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
      // Reads the shadow first: the answer triggers the next try.
      this.#ports.ask()
      return
    }
    this.#reports.delete(token)
    report.reject(
      new Error(`the report was refused: ${String(code ?? status)} ${String(detail ?? '')}`.trim()),
    )
  }

  /** Gives up the reports that will not be answered any more. */
  close(): void {
    for (const { reject } of this.#reports.values()) reject(new Error('the device was closed'))
    this.#reports.clear()
  }

  #begin(patch: JsonObject, namesVersion: boolean): Promise<number> {
    return new Promise((resolve, reject) => {
      const token = this.#ports.newToken()
      const report = { patch, namesVersion, resolve, reject, tries: 1, hasArrived: false }
      this.#reports.set(token, report)
      this.#send(token, report)
    })
  }

  #send(token: string, report: Report): void {
    const { patch, namesVersion, tries } = report
    const isLast = tries === TRIES_MAX
    const version = namesVersion && !isLast ? { version: this.#version } : {}
    report.hasArrived = false
    this.#ports.report({ state: patch, ...version, client_token: token }).then(
      () => {
        report.hasArrived = true
      },
      (error: Error) => {
        this.#reports.delete(token)
        report.reject(error)
      },
    )
  }

  /** Applies one difference at a time. A newer one replaces the one that waits (D1). */
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
