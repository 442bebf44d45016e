// Stories of one device. Lines are events. The indented lines below them are the resulting changes and effects, which are
// generated and then reviewed by people.
import { Micros, Millis, parseDeviceId } from '../../../../schemas/ids.ts'
import { userAuthor } from '../../shadow/record.ts'
import { commandDeadline, sendCommands } from '../command-events.ts'
import type { DeviceEvent, Outcome } from '../events.ts'
import type { Device, DownlinkRoute } from '../record.ts'
import { nextDeadline, register, transition } from '../transition.ts'
import { parseLine, type Step } from './story-language.ts'
import { changeLines, deadlineLine, effectLines } from './story-outcome.ts'

export const HEARTBEAT_TIMEOUT_MS = 60_000
const RECOVERY_MS = 10_000
const NEVER = Number.POSITIVE_INFINITY

/** Regenerates a story from its events. */
export function retell(story: string): string {
  const teller = new Teller()
  return story
    .split('\n')
    .filter((line) => !line.startsWith('    '))
    .flatMap((line) => (/^(day )?\d/.test(line) ? [line, ...teller.tell(line)] : [line]))
    .join('\n')
}

/** A device together with the vitals that a shard keeps for it. */
class Teller {
  #device: Device | undefined
  #now = Millis(0)
  #heardAt = 0
  #recoverAt = NEVER
  #way: DownlinkRoute | undefined
  #sessions = 0
  #deadline = NEVER
  readonly #lines: string[] = []

  tell(line: string): readonly string[] {
    const { at, step } = parseLine(line)
    if (at < this.#now) throw new Error(`a story goes forward: ${line}`)
    this.#now = at
    const before = this.#device
    this.#take(step)
    const effects = this.#lines.splice(0)
    const changes = this.#device === undefined ? [] : changeLines(before, this.#device, at)
    // transition D1, R7.
    if (changes.length > 0 !== (this.#device !== before)) throw new Error(`kept without a change: ${line}`)
    const told = [...changes, ...effects, ...this.#look()]
    return told.length === 0 ? ['    nothing'] : told
  }

  #take(step: Step): void {
    if (step.kind === 'request') this.#request(step)
    else if (this.#device === undefined) throw new Error('a story begins with a registration')
    else if (step.kind === 'event') {
      if (step.event.kind === 'diagnosed') this.#recoverAt = NEVER
      this.#decide(step.event)
      if (step.isHeard) this.#hear()
    } else if (step.kind === 'connects') this.#connect(this.#device)
    else if (step.kind === 'disconnects') this.#way = undefined
    else if (step.kind === 'turns_well') {
      this.#recoverAt = this.#now + RECOVERY_MS
      this.#hear()
    } else this.#sweep(this.#device)
  }

  #request({ request, by }: Extract<Step, { kind: 'request' }>): void {
    if (this.#device !== undefined) {
      this.#decide({ kind: 'requested', request, by: userAuthor(by) })
      return
    }
    const id = parseDeviceId('pump')
    if (id === undefined || request.kind !== 'register') throw new Error('a story begins with a registration')
    this.#keep(register(id, request, userAuthor(by), this.#now))
  }

  /** A new session gets the desired state and listens to commands. */
  #connect({ shadow }: Device): void {
    this.#way = { session: Micros(++this.#sessions), via: undefined }
    if (shadow.version > 0) this.#decide({ kind: 'shadow_wanted', part: 'desired' })
    this.#send()
    this.#hear()
  }

  #hear(): void {
    this.#heardAt = this.#now
    const status = this.#device?.status
    if (status === 'provisioning' || status === 'offline') this.#decide({ kind: 'heard', seenAt: this.#now })
  }

  #sweep(device: Device): void {
    if (this.#presenceDeadline(device) <= this.#now)
      this.#decide(
        device.status === 'error' ? { kind: 'recovered' } : { kind: 'silent', seenAt: Millis(this.#heardAt) },
      )
    this.#decide({ kind: 'overdue' })
  }

  #decide(event: DeviceEvent): void {
    if (this.#device === undefined) return
    const outcome = transition(this.#device, event, this.#now)
    this.#keep(outcome)
    if (outcome.effects.every(({ kind }) => kind !== 'refuse')) this.#send()
  }

  /** Runs after each event. */
  #send(): void {
    if (this.#device === undefined || this.#way === undefined) return
    this.#keep(sendCommands(this.#device, { way: this.#way, now: this.#now }))
  }

  #keep({ device, effects }: Outcome): void {
    this.#device = device
    this.#lines.push(...effects.flatMap(effectLines))
  }

  /** The lines of the events that a deadline caused. */
  #look(): readonly string[] {
    const device = this.#device
    if (device === undefined) return []
    const commandsAt = commandDeadline(device, this.#way, this.#now)
    const before = this.#deadline
    this.#deadline = Math.min(this.#presenceDeadline(device), commandsAt)
    return this.#deadline === before ? [] : [deadlineLine(this.#deadline)]
  }

  #presenceDeadline(device: Device): number {
    const vitals = { heardAt: this.#heardAt, recoverAt: this.#recoverAt }
    return nextDeadline(device, vitals, HEARTBEAT_TIMEOUT_MS)
  }
}
