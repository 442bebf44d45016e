// Simulates how a device moves, drains its battery and warms up. Pure: time and randomness are arguments.
import type { Random } from './random.ts'

export const MODES = ['driving', 'idle', 'charging', 'stopped'] as const
export type Mode = (typeof MODES)[number]

export interface Point {
  readonly x: number
  readonly y: number
}

export interface Body {
  readonly mode: Mode
  /** Metres from the dock. */
  readonly position: Point
  /** Radians in (-π, π]. */
  readonly heading: number
  /** Metres per second. */
  readonly speed: number
  /** The destination that a command set, if any. */
  readonly target: Point | undefined
  readonly batteryPercent: number
  readonly temperature: number
  readonly rssi: number
  /** A fraction from 0 to 1. */
  readonly load: number
}

/** Half the side length of the square in which devices move. */
export const ARENA_M = 40
const DOCK: Point = { x: 0, y: 0 }
const SPEED_MAX = 1.2
const ARRIVED_M = 0.5
const CHARGE_BELOW_PERCENT = 20
const CHARGED_PERCENT = 95
const DRAIN_PER_SEC = 0.03
const CHARGE_PER_SEC = 0.5

export function createBody(random: Random): Body {
  return {
    mode: 'driving',
    position: { x: between(random, -10, 10), y: between(random, -10, 10) },
    heading: between(random, -Math.PI, Math.PI),
    speed: 0,
    target: undefined,
    batteryPercent: between(random, 40, 100),
    temperature: between(random, 20, 30),
    rssi: -55,
    load: 0.2,
  }
}

export function step(body: Body, elapsedSec: number, random: Random): Body {
  const moved = move(chooseMode(body), elapsedSec, random)
  const working = moved.speed / SPEED_MAX
  const drain = moved.mode === 'charging' ? CHARGE_PER_SEC : -DRAIN_PER_SEC * (0.2 + working)
  return {
    ...moved,
    batteryPercent: clamp(moved.batteryPercent + drain * elapsedSec, 0, 100),
    temperature:
      approach(moved.temperature, 24 + 14 * working, elapsedSec / 60) + between(random, -0.05, 0.05),
    rssi: clamp(
      approach(moved.rssi, -48 - distance(moved.position, DOCK) * 0.6, elapsedSec) + between(random, -1, 1),
      -95,
      -30,
    ),
    load: clamp(
      approach(moved.load, 0.15 + 0.5 * working, elapsedSec / 5) + between(random, -0.03, 0.03),
      0,
      1,
    ),
  }
}

export function hasArrived(body: Body, target: Point): boolean {
  return distance(body.position, target) <= ARRIVED_M
}

function chooseMode(body: Body): Body {
  if (body.mode === 'driving' && body.batteryPercent < CHARGE_BELOW_PERCENT)
    return { ...body, mode: 'charging' }
  if (body.mode === 'charging' && body.batteryPercent > CHARGED_PERCENT) return { ...body, mode: 'driving' }
  if (body.target !== undefined && hasArrived(body, body.target))
    return { ...body, target: undefined, mode: 'idle' }
  return body
}

function move(body: Body, elapsedSec: number, random: Random): Body {
  const speed = approach(body.speed, body.mode === 'driving' ? SPEED_MAX : 0, elapsedSec)
  const heading = wrap(body.heading + turn(body, elapsedSec, random))
  const { x, y } = body.position
  // The step ends at the target. A device that overshot it would circle around it for ever.
  const room = body.target === undefined ? Number.POSITIVE_INFINITY : distance(body.position, body.target)
  const stride = Math.min(speed * elapsedSec, room)
  const position = {
    x: clamp(x + Math.cos(heading) * stride, -ARENA_M, ARENA_M),
    y: clamp(y + Math.sin(heading) * stride, -ARENA_M, ARENA_M),
  }
  return { ...body, speed, heading, position }
}

/** Returns the change of heading: towards the target, away from the edge or at random. */
function turn(body: Body, elapsedSec: number, random: Random): number {
  if (body.mode !== 'driving') return 0
  const { x, y } = body.position
  const isNearEdge = Math.max(Math.abs(x), Math.abs(y)) > ARENA_M * 0.9
  const goal = body.target ?? (isNearEdge ? DOCK : undefined)
  if (goal === undefined) return between(random, -0.4, 0.4) * elapsedSec
  const off = wrap(Math.atan2(goal.y - y, goal.x - x) - body.heading)
  return clamp(off, -1.5 * elapsedSec, 1.5 * elapsedSec)
}

function distance(from: Point, to: Point): number {
  return Math.hypot(to.x - from.x, to.y - from.y)
}

function between(random: Random, low: number, high: number): number {
  return low + random() * (high - low)
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value))
}

/** Moves `value` towards `goal` by this fraction of the distance. */
function approach(value: number, goal: number, part: number): number {
  return value + (goal - value) * clamp(part, 0, 1)
}

function wrap(angle: number): number {
  return Math.atan2(Math.sin(angle), Math.cos(angle))
}
