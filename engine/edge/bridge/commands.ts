// What a command from the service does in ROS.
import { isObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import type { CommandContext, CommandHandler } from '../device/index.ts'
import type { Clock } from './clock.ts'
import type { DownlinkRoute } from './config/route.ts'
import { RosError } from './ros/calls.ts'
import type { Rosbridge } from './ros/rosbridge.ts'

/** Time for a command that names none of its own. */
const TIMEOUT_MS = 60_000

export function commandHandler(route: DownlinkRoute, ros: Rosbridge, clock: Clock): CommandHandler {
  switch (route.mode) {
    case 'topic':
      return (data, context) => ros.publish(route.rosTopic, messageFor(route, data, context))
    case 'service':
      return (data, context) => call(route, data, { ros, clock, context })
    case 'action':
      return (data, context) => pursue(route, data, { ros, clock, context })
  }
}

/** The data of the command. A std_msgs/String that takes all commands, whose data are no such message, gets each of them
 *  whole, as JSON. */
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

interface Surroundings {
  readonly ros: Rosbridge
  readonly clock: Clock
  readonly context: CommandContext
}

async function call(route: DownlinkRoute, data: JsonObject, around: Surroundings): Promise<Json> {
  const { ros } = around
  const { ended, giveUp } = ros.callService({ service: route.rosTopic, type: route.rosType, args: data })
  return await bounded(ended, giveUp, around)
}

async function pursue(route: DownlinkRoute, data: JsonObject, around: Surroundings): Promise<Json> {
  const { ros, context } = around
  const goal = { action: route.rosTopic, type: route.rosType ?? '', args: data }
  const { ended, cancel } = ros.sendGoal(goal, (feedback) => context.progress(percentOf(feedback)))
  return await bounded(ended, cancel, around)
}

/** Ends with the command's time, or when the command is cancelled. */
async function bounded(
  ended: Promise<Json>,
  giveUp: (error: RosError) => void,
  { clock, context }: Surroundings,
): Promise<Json> {
  const { expiresAt, signal } = context
  const leftMs = expiresAt === undefined ? TIMEOUT_MS : expiresAt.getTime() - clock.now()
  const stop = clock.after(Math.min(Math.max(0, leftMs), LONGEST_MS), () =>
    giveUp(new RosError('TIMEOUT', 'ROS did not finish this within the time of the command')),
  )
  const cancel = () => giveUp(new RosError('CANCELED', 'the command was cancelled'))
  signal.addEventListener('abort', cancel, { once: true })
  try {
    return await ended
  } finally {
    stop()
    signal.removeEventListener('abort', cancel)
  }
}

/** The longest time of a timer. */
const LONGEST_MS = 2_147_483_647

/** Feedback that tells no percentage is progress all the same. */
function percentOf(feedback: Json): number | undefined {
  if (!isObject(feedback)) return undefined
  const { progress, percent, percent_complete: complete } = feedback
  const found = [progress, percent, complete].find((value) => typeof value === 'number')
  return typeof found === 'number' ? Math.min(100, Math.max(0, found)) : undefined
}
