// Checks of a `subscribe` frame beyond its schema.
import { BODY_LIMITS } from '../../schemas/body-limits.ts'
import type { Subscribe } from '../../schemas/ws.ts'
import type { FleetHub } from './fleet-hub.ts'
import type { FleetSubscription } from './fleet-subscription.ts'
import { refusal, type SocketRefusal } from './refusal-frame.ts'

interface FleetCapacity {
  /** Number of this socket's subscriptions to the channel. */
  readonly open: number
  readonly fleetHub: FleetHub
  readonly limits: {
    readonly fleetSubscriptionsPerSocketMax: number
    readonly fleetFiltersPerUserMax: number
    readonly fleetMetricsMax: number
  }
}

export function refuseTooManyFleet(
  { id, metrics, userId, filterKey }: FleetSubscription,
  capacity: FleetCapacity,
): SocketRefusal | undefined {
  const { open, fleetHub, limits } = capacity
  if (open >= limits.fleetSubscriptionsPerSocketMax)
    return refusal('RATE_LIMIT_EXCEEDED', 'too many subscriptions to the channel fleet; end one', id)
  if (!fleetHub.hasRoomForFilter(userId, filterKey))
    return refusal(
      'RATE_LIMIT_EXCEEDED',
      `a user may have ${limits.fleetFiltersPerUserMax} different filters on the channel fleet; end a subscription`,
      id,
    )
  return fleetHub.hasRoomFor(metrics)
    ? undefined
    : refusal('RATE_LIMIT_EXCEEDED', `at most ${limits.fleetMetricsMax} metrics are shown at a time`, id)
}

export function refuseMisplaced(frame: Subscribe): SocketRefusal | undefined {
  const { id, channel, filter, throttle_ms: throttleMs, values, snapshot } = frame
  const refuse = (message: string) => refusal('VALIDATION_FAILED', message, id)
  if (filter?.deployment_id !== undefined && channel !== 'ota')
    return refuse('deployment_id filters the channel ota only')
  if (filter?.pending !== undefined && channel !== 'alerts')
    return refuse('/filter/pending is only for the channel alerts')
  if (channel !== 'fleet') {
    if (values !== undefined)
      return refuse('/values is only for the channel fleet; telemetry takes filter.metrics')
    const isNamed = filter?.device_ids !== undefined
    return isNamed
      ? refuse('/filter/device_ids is only for the channel fleet; name one device_id')
      : undefined
  }
  if (snapshot === true) return refuse('/snapshot: read GET /api/v1/fleet/index once you are subscribed')
  if (filter?.metrics !== undefined) return refuse('/filter/metrics: name metrics in values')
  if (filter?.device_id !== undefined && filter.device_ids !== undefined)
    return refuse('/filter: name device_id or device_ids, not both')
  const { fleetThrottleMsMin, fleetValuesThrottleMsMin } = BODY_LIMITS
  const msMin = values === undefined ? fleetThrottleMsMin : fleetValuesThrottleMsMin
  const suffix = values === undefined ? '' : ' with values'
  return throttleMs !== undefined && throttleMs < msMin
    ? refuse(`/throttle_ms must be at least ${msMin}${suffix}`)
    : undefined
}

export const tooManyBroad = (
  { broadSubscriptionsPerUserMax: most }: { readonly broadSubscriptionsPerUserMax: number },
  id: string,
): SocketRefusal =>
  refusal(
    'RATE_LIMIT_EXCEEDED',
    `a user may have ${most} subscriptions whose filter has no device_id; end one, or name a device`,
    id,
  )

export const tooManyNames = (
  { metricNamesPerUserMax }: { readonly metricNamesPerUserMax: number },
  id: string,
): SocketRefusal =>
  refusal(
    'RATE_LIMIT_EXCEEDED',
    `at most ${metricNamesPerUserMax} metrics can be named in all subscriptions of a user`,
    id,
  )
