// Decides how a simulated device answers a command. Pure.
import type { JsonObject } from '../../../../schemas/json.ts'
import type { CommandFate, CommandPlan } from '../scenario/scenario.ts'
import { draw, hashOf } from './draw.ts'

export interface Answer {
  readonly fate: CommandFate
  /** The acks to publish, each after this delay. */
  readonly acks: readonly { readonly afterMs: number; readonly ack: JsonObject }[]
}

export interface CommandDraw {
  readonly seed: number
  readonly device: number
  readonly command: string
  /** The number of commands that this device was sent before. */
  readonly nth: number
}

export function answer(plans: ReadonlyMap<string, CommandPlan>, asked: CommandDraw): Answer {
  const { seed, device, command, nth } = asked
  const plan = plans.get(command)
  if (plan === undefined) {
    const message = `the known commands are ${[...plans.keys()].join(', ')}`
    const error = { code: 'UNKNOWN_COMMAND', message }
    return { fate: 'unknown', acks: [{ afterMs: 0, ack: { status: 'failed', error } }] }
  }
  const chance = 100 * draw(seed, hashOf(command), device, nth)
  if (chance < plan.ignorePercent) return { fate: 'ignored', acks: [] }
  const began = plan.ackMs === undefined ? [] : [{ afterMs: plan.ackMs, ack: { status: 'acked' } }]
  const afterMs = (plan.ackMs ?? 0) + plan.runMs
  if (chance < plan.ignorePercent + plan.failPercent) {
    const error = { code: 'SIMULATED_FAILURE', message: 'the scenario makes this command fail' }
    return { fate: 'failed', acks: [...began, { afterMs, ack: { status: 'failed', error } }] }
  }
  const done = { status: 'completed', result: plan.result }
  return { fate: 'completed', acks: [...began, { afterMs, ack: done }] }
}
