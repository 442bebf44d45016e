// Steps that several checks of a service share.
import type { JsonObject } from '../../../../schemas/json.ts'
import type { Level } from '../report.ts'
import { UnmetCheck } from '../verdict.ts'
import { type Device, expectSuccess, type Run, type Session } from './run.ts'

export interface ServiceCheck {
  readonly id: string
  readonly level: Level
  /** True if the check changes nothing. */
  readonly isRead?: true
  /** True if the check waits long or sends many requests. It is not part of a quick examination. */
  readonly isSlow?: true
  /** True if the check disturbs others and must therefore run after them. */
  readonly isLast?: true
  readonly clause: string
  readonly title: string
  readonly run: (run: Run) => Promise<void>
}

export function check(id: string, clause: string, title: string): Omit<ServiceCheck, 'run'> {
  return { id, level: 'MUST', clause: `api/README.md, ${clause}`, title }
}

export function status(word: 'online' | 'offline', sessionId: string, version = '1.0.0'): string {
  return JSON.stringify({ status: word, session_id: sessionId, firmware_version: version })
}

/** A broker that checks only the signature of a token accepts a revoked one, until the service ends the session. */
const END_MS_MAX = 2_000

export async function expectRefused(run: Run, device: Device): Promise<void> {
  const session = await run.connect(device).catch(() => undefined)
  if (session === undefined) return
  const hasEnded = () => !session.client.connected
  await run.until('the session ends', hasEnded, END_MS_MAX).catch(() => {
    throw new UnmetCheck(`it accepts ${device.id}, which it should refuse`)
  })
}

export async function untilStatus(run: Run, id: string, wanted: string): Promise<void> {
  await run.until(`the status ${wanted}`, async () => {
    return (await run.rest.get(`/devices/${id}`)).body['status'] === wanted
  })
}

/** Returns the latest message with this suffix that the session received. Waits for one if there is none. */
export async function messageOn(run: Run, { inbox }: Session, suffix: string): Promise<JsonObject> {
  const { body } = await run.until(`a message on ${suffix}`, () =>
    inbox.findLast(({ topic }) => topic === suffix),
  )
  return body ?? {}
}

export interface SentCommand {
  readonly device: Device
  readonly session: Session
  /** The id of the command in REST. */
  readonly id: string
  /** The id of the command on MQTT. */
  readonly requestId: string
}

/** Registers and connects a device, and sends it a command. */
export async function deviceWithCommand(run: Run, body: JsonObject): Promise<SentCommand> {
  const device = await run.register()
  const session = await run.connect(device)
  await run.subscribe(session, device, 'command')
  await session.publish('status', status('online', 's1'))
  const id = await sendCommand(run, device, body)
  const { request_id: requestId } = await messageOn(run, session, 'command')
  return { device, session, id, requestId: String(requestId) }
}

/** Sends a command. Resolves with its id once it was accepted. */
export async function sendCommand(run: Run, { id }: Device, body: JsonObject): Promise<string> {
  const made = await run.rest.post(`/commands/${id}`, body)
  expectSuccess(made, 'POST /commands/{id}')
  return String(made.body['command_id'])
}

export async function untilCommand(
  run: Run,
  { device, id }: Pick<SentCommand, 'device' | 'id'>,
  wanted: string,
): Promise<JsonObject> {
  return run.until(`the command is ${wanted}`, async () => {
    const { body } = await run.rest.get(`/commands/${device.id}/${id}`)
    return body['status'] === wanted ? body : undefined
  })
}
