// Conditions of alert rules as callers write them. They are validated by `engine/domain/alert/check-condition.ts`, which
// reports the place of an error within the tree.
import type { COMMAND_STATUSES, Comparison, DeviceStatus, LogLevel } from './vocabulary.ts'

/** Conditions about a single property of a device. */
export type Leaf =
  | {
      readonly kind: 'threshold'
      readonly metric: string
      readonly op: Comparison
      readonly value: number | boolean | string
      readonly clear_value?: number
    }
  | {
      readonly kind: 'range'
      readonly metric: string
      readonly min?: number
      readonly max?: number
      readonly clear_margin?: number
    }
  | { readonly kind: 'absence'; readonly metric?: string; readonly for_sec: number }
  | { readonly kind: 'state'; readonly in?: readonly DeviceStatus[]; readonly connected?: boolean }
  | {
      readonly kind: 'rate'
      readonly metric: string
      readonly op: Comparison
      readonly per_sec: number
      readonly window_sec: number
    }
  | {
      readonly kind: 'repeat'
      readonly condition: Leaf
      readonly times: number
      readonly within_sec: number
    }
  | { readonly kind: 'flapping' }
  | { readonly kind: 'out_of_sync'; readonly for_sec: number }
  | { readonly kind: 'log'; readonly level: LogLevel; readonly contains?: string }
  | {
      readonly kind: 'command_failed'
      readonly command?: string
      readonly statuses?: readonly FailedStatus[]
    }
  | { readonly kind: 'dead_letter'; readonly reason?: string }
  | { readonly kind: 'heartbeat' }
  | {
      readonly kind: 'deployment_failed'
      /** The default `device` means failed jobs. `deployment` is about the fleet. */
      readonly of?: DeploymentFailedOf | readonly [DeploymentFailedOf]
    }
  | FleetLeaf
  | FleetMetricLeaf

/** How many members of the target satisfy the inner condition. */
export interface FleetLeaf {
  readonly kind: 'fleet'
  readonly of: FleetOf
  readonly op: Comparison
  readonly value: number
  readonly unit?: FleetUnit
  /** If the target has fewer members, the condition is false. */
  readonly min_members?: number
  readonly group_level?: number
}

/** An aggregate of the members' newest values. */
export interface FleetMetricLeaf {
  readonly kind: 'fleet_metric'
  readonly metric: string
  readonly agg: FleetAggregate
  readonly op: Comparison
  readonly value: number
  readonly clear_value?: number
  readonly stale_after_sec?: number
  readonly every_sec?: number
  readonly group_level?: number
}

/** The inner condition that members are counted for. */
export type FleetOf =
  | Extract<Leaf, { kind: 'state' }>
  | { readonly kind: 'flapping' }
  | { readonly rule_id: string }

export const FLEET_UNITS = ['count', 'percent'] as const
export type FleetUnit = (typeof FLEET_UNITS)[number]
export const FLEET_AGGREGATES = ['avg', 'min', 'max', 'sum', 'count'] as const
export type FleetAggregate = (typeof FLEET_AGGREGATES)[number]
export const DEPLOYMENT_FAILED_OF = ['device', 'deployment'] as const
export type DeploymentFailedOf = (typeof DEPLOYMENT_FAILED_OF)[number]

export type Condition =
  | Leaf
  | { readonly all: readonly Condition[] }
  | { readonly any: readonly Condition[] }
  | { readonly not: Condition }

export const FAILED_STATUSES = [
  'failed',
  'expired',
  'rejected',
] as const satisfies readonly (typeof COMMAND_STATUSES)[number][]
export type FailedStatus = (typeof FAILED_STATUSES)[number]

export const LEAF_KINDS = [
  'threshold',
  'range',
  'absence',
  'state',
  'rate',
  'repeat',
  'flapping',
  'out_of_sync',
  'log',
  'command_failed',
  'deployment_failed',
  'dead_letter',
  'heartbeat',
  'fleet',
  'fleet_metric',
] as const satisfies readonly Leaf['kind'][]
