// Carries out commands of the service in ROS.
import { isObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import type { CommandContext, CommandHandler } from '../device/index.ts'
import type { Clock } from './clock.ts'
import type { DownlinkRoute } from './config/route.ts'
import { RosError } from './ros/calls.ts'
import type { Rosbridge } from './ros/rosbridge.ts'

/** The time limit of a command without an expiry time, and of a call that applies the desired state. */
const TIMEOUT_MS = 60_000

export function commandHandler(route: DownlinkRoute, ros: Rosbridge, clock: Clock): CommandHandler {
  switch (route.mode) {
    case 'topic':
      return (data, context) => ros.publish(route.rosTopic, messageFor(route, data, context))
    case 'service':
      return (data, context) => callService(route, data, { ros, clock, context })
    case 'action':
      return (data, context) => sendGoal(route, data, { ros, clock, context })
  }
}

/** Returns the data of the command as the ROS message. A route for all commands to a std_msgs/String gets the whole
 *  command as JSON, unless its data already are such a message. */
function messageFor(
  route: DownlinkRoute,
  data: JsonObject,
  { command, requestId }: CommandContext,
): JsonObject {
  const isAll = route.from.kind === 'command' && route.from.command === undefined
  const isString = Object.keys(data).length === 1 && typeof data['data'] === 'string'
  if (!isAll || isString || !isStringType(route.rosType)) return data
  return { data: JSON.stringify({ request_id: requestId, command, data }) }
}

export function isStringType(type: string | undefined): boolean {
  return type === 'std_msgs/msg/String' || type === 'std_msgs/String'
}

interface CallPorts {
  readonly ros: Pick<Rosbridge, 'callService'>
  readonly clock: Clock
  /** Left out for a call that no command asked for. */
  readonly context?: Pick<CommandContext, 'expiresAt' | 'signal'>
}

export async function callService(route: DownlinkRoute, data: JsonObject, ports: CallPorts): Promise<Json> {
  const { ros } = ports
  const { ended, giveUp } = ros.callService({ service: route.rosTopic, type: route.rosType, args: data })
  return await withDeadline(ended, giveUp, ports)
}

interface GoalPorts {
  readonly ros: Pick<Rosbridge, 'sendGoal'>
  readonly clock: Clock
  readonly context: CommandContext
}

async function sendGoal(route: DownlinkRoute, data: JsonObject, ports: GoalPorts): Promise<Json> {
  const { ros, context } = ports
  const goal = { action: route.rosTopic, type: route.rosType ?? '', args: data }
  const { ended, cancel } = ros.sendGoal(goal, (feedback) => context.progress(percentOf(feedback)))
  return await withDeadline(ended, cancel, ports)
}

/** Waits for the result. Gives up when the command expires or is cancelled. */
async function withDeadline(
  ended: Promise<Json>,
  giveUp: (error: RosError) => void,
  { clock, context }: Pick<CallPorts, 'clock' | 'context'>,
): Promise<Json> {
  const { expiresAt, signal } = context ?? {}
  const leftMs = expiresAt === undefined ? TIMEOUT_MS : expiresAt.getTime() - clock.now()
  const stop = clock.after(Math.min(Math.max(0, leftMs), TIMER_MS_MAX), () =>
    giveUp(new RosError('TIMEOUT', 'ROS did not finish this in time')),
  )
  const cancel = () => giveUp(new RosError('CANCELED', 'the command was cancelled'))
  signal?.addEventListener('abort', cancel, { once: true })
  try {
    return await ended
  } finally {
    stop()
    signal?.removeEventListener('abort', cancel)
  }
}

/** The longest delay of a Node timer. */
const TIMER_MS_MAX = 2_147_483_647

/** Returns the percentage in the feedback. Feedback without one still counts as progress. */
function percentOf(feedback: Json): number | undefined {
  if (!isObject(feedback)) return undefined
  const { progress, percent, percent_complete: complete } = feedback
  const found = [progress, percent, complete].find((value) => typeof value === 'number')
  return typeof found === 'number' ? Math.min(100, Math.max(0, found)) : undefined
}
