// Carries out a command on a simulated device. Pure.
import type { JsonObject } from '../../../../schemas/json.ts'
import { ARENA_M, type Body, MODES, type Point } from './motion.ts'

export type CommandOutcome =
  | { readonly kind: 'done'; readonly body: Body; readonly result: JsonObject }
  /** The device is on its way to `target`. The command is completed when it arrives. */
  | { readonly kind: 'started'; readonly body: Body; readonly target: Point }
  | { readonly kind: 'refused'; readonly code: string; readonly message: string }

export const COMMANDS = ['ping', 'stop', 'resume', 'charge', 'set_mode', 'move_to'] as const

export function obey(body: Body, command: string, data: JsonObject): CommandOutcome {
  switch (command) {
    case 'ping':
      return { kind: 'done', body, result: { pong: true } }
    case 'stop':
      return done({ ...body, mode: 'stopped', speed: 0, target: undefined })
    case 'resume':
      return done({ ...body, mode: 'driving' })
    case 'charge':
      return done({ ...body, mode: 'charging', target: undefined })
    case 'set_mode':
      return setMode(body, data)
    case 'move_to':
      return moveTo(body, data)
    default:
      return {
        kind: 'refused',
        code: 'UNKNOWN_COMMAND',
        message: `the known commands are ${COMMANDS.join(', ')}`,
      }
  }
}

function done(body: Body): CommandOutcome {
  return { kind: 'done', body, result: { mode: body.mode } }
}

function setMode(body: Body, { mode: wanted }: JsonObject): CommandOutcome {
  const mode = MODES.find((known) => known === wanted)
  if (mode === undefined)
    return { kind: 'refused', code: 'BAD_MODE', message: `mode must be one of ${MODES.join(', ')}` }
  return done({ ...body, mode, target: undefined })
}

function moveTo(body: Body, { x, y }: JsonObject): CommandOutcome {
  if (!isInArena(x) || !isInArena(y)) {
    return {
      kind: 'refused',
      code: 'BAD_TARGET',
      message: `x and y must be numbers from -${ARENA_M} to ${ARENA_M}`,
    }
  }
  const target = { x, y }
  return { kind: 'started', body: { ...body, mode: 'driving', target }, target }
}

function isInArena(value: unknown): value is number {
  return typeof value === 'number' && Math.abs(value) <= ARENA_M
}
