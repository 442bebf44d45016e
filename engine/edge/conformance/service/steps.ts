// What the checks of a service do again and again.
import type { JsonObject } from '../../../../schemas/json.ts'
import type { Level } from '../report.ts'
import { UnmetCheck } from '../verdict.ts'
import { type Device, expectStatus, type Run, type Session } from './run.ts'

export interface ServiceCheck {
  readonly id: string
  readonly level: Level
  /** True if it changes nothing. */
  readonly isRead?: true
  /** True if it waits long, or asks much: not a part of the quick examination. */
  readonly isSlow?: true
  /** True if the other checks must be over, since it disturbs them. */
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

/** A broker that reads no more than a token's signature lets a void one in, until the service ends its session. */
const OUT_MS = 2_000

export async function isRefused(run: Run, device: Device): Promise<void> {
  const session = await run.connect(device).catch(() => undefined)
  if (session === undefined) return
  const isOut = () => (session.client.connected ? undefined : true)
  await run.until('its end', isOut, OUT_MS).catch(() => {
    throw new UnmetCheck(`it lets in ${device.id}, which it should refuse`)
  })
}

export async function hasStatus(run: Run, id: string, wanted: string): Promise<void> {
  await run.until(`the status ${wanted}`, async () => {
    return (await run.rest.get(`/devices/${id}`)).body['status'] === wanted ? true : undefined
  })
}

/** The rows of a page. */
export function rowsOf(body: JsonObject): readonly JsonObject[] {
  return Array.isArray(body['data']) ? body['data'].map((row) => Object(row) as JsonObject) : []
}

/** The last message with this suffix that the session was sent; waits for one. */
export async function told(run: Run, { inbox }: Session, suffix: string): Promise<JsonObject> {
  const { body } = await run.until(`a message on ${suffix}`, () =>
    inbox.findLast(({ topic }) => topic === suffix),
  )
  return body ?? {}
}

export interface SentCommand {
  readonly device: Device
  readonly session: Session
  /** How REST calls the command. */
  readonly id: string
  /** How the device is told it. */
  readonly order: string
}

/** A device that was sent a command. */
export async function ordered(run: Run, body: JsonObject): Promise<SentCommand> {
  const device = await run.register()
  const session = await run.connect(device)
  await run.subscribe(session, device, 'command')
  await session.say('status', status('online', 's1'))
  const id = await send(run, device, body)
  const { request_id: order } = await told(run, session, 'command')
  return { device, session, id, order: String(order) }
}

/** Resolves with the id of a command that was accepted. */
export async function send(run: Run, { id }: Device, body: JsonObject): Promise<string> {
  const made = await run.rest.post(`/commands/${id}`, body)
  if (made.status >= 300) expectStatus(made, 202, 'POST /commands/{id}')
  return String(made.body['command_id'])
}

export async function hasCommand(
  run: Run,
  { device, id }: Pick<SentCommand, 'device' | 'id'>,
  wanted: string,
): Promise<JsonObject> {
  return run.until(`the command is ${wanted}`, async () => {
    const { body } = await run.rest.get(`/commands/${device.id}/${id}`)
    return body['status'] === wanted ? body : undefined
  })
}
