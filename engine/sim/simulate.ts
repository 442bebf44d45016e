// A run of the simulation: a seed decides what devices, callers and bad luck do; then all is calm, and everything
// that was promised must be true.
import { checkAtRest } from './checks.ts'
import { World } from './world.ts'

export interface Run {
  readonly seed: number
  readonly violations: readonly string[]
  readonly hash: string
  readonly trace: readonly string[]
}

const DEVICES = 6
const STEPS = 220

export async function simulate(seed: number): Promise<Run> {
  const world = new World(seed)
  await world.start()
  for (let i = 0; i < DEVICES; i++) await world.register(i < 2)
  for (let step = 0; step < STEPS && world.violations.length === 0; step++) await stepOnce(world)
  await comeToRest(world)
  await checkAtRest(world)
  world.crash()
  return { seed, violations: world.violations, hash: world.hash(), trace: world.trace }
}

async function stepOnce(world: World): Promise<void> {
  const { dice, luck } = world
  if (world.process === undefined) await restart(world)
  for (const device of world.devices) {
    const promised = world.promised.get(device.id)
    if (promised === undefined) continue
    if (!promised.isRegistered && dice.chance(0.2)) again(world, device.id)
    if (!device.isConnected() && (device.isSteady || dice.chance(0.1))) await connect(world, device)
    // Steady devices never pause for long: every step, and a step is shorter than the heartbeat timeout.
    if (device.isSteady) device.publish()
    for (let acts = dice.between(0, 3); acts > 0; acts--) device.act()
    // A second connection of the same device takes over from the first.
    if (dice.chance(0.02) && device.isConnected()) await connect(world, device)
    if (promised.isRegistered && dice.chance(0.05)) edit(world, device)
  }
  if (dice.chance(0.02)) world.setClickHouse(dice.chance(0.5))
  if (dice.chance(0.003)) decommissionOne(world)
  if (dice.chance(luck.pauses)) {
    world.time.jump(120_000)
    world.say('paused for two minutes')
  }
  await world.time.advance(dice.pick([1, 20, 400, 3_000, 9_000]))
  if (dice.chance(luck.crashes)) world.crash()
  // Not awaited: it takes time, and time goes on with the next step.
  if (dice.chance(0.01)) void world.process?.engine.settleRollups()
}

/** A restart takes a while, and devices find their way back. */
async function restart(world: World): Promise<void> {
  await world.time.advance(world.dice.between(0, 5_000))
  await world.start()
}

type Device = World['devices'][number]

async function connect(world: World, device: Device): Promise<void> {
  const broker = world.process?.broker
  if (broker !== undefined) await device.connect(broker)
}

function again(world: World, id: Device['id']): void {
  world.request(id, { kind: 'register', name: id, type: 'mqtt_device' }, (promised) => {
    promised.isRegistered = true
  })
}

function edit(world: World, device: Device): void {
  const promised = world.promised.get(device.id)
  if (promised === undefined || promised.isDecommissioned) return
  const edits = promised.edits + 1
  world.request(device.id, { kind: 'edit', replace: false, metadata: { edits } }, (kept) => {
    kept.edits = Math.max(kept.edits, edits)
  })
}

function decommissionOne(world: World): void {
  const device = world.dice.pick(world.devices.filter(({ isSteady }) => !isSteady))
  device.mayBeGoneFrom = Math.min(device.mayBeGoneFrom, world.time.now())
  world.request(device.id, { kind: 'decommission' }, (promised) => {
    promised.isDecommissioned = true
    device.isGone = true
  })
}

/** No more faults, everybody reconnects and says a last word, and all of it is given time to arrive. */
async function comeToRest(world: World): Promise<void> {
  world.calm()
  if (world.process === undefined) await restart(world)
  await world.time.advance(20_000)
  for (const device of world.devices) {
    if (!device.isConnected() && !device.isGone) await connect(world, device)
    device.publish()
  }
  for (let i = 0; i < 6; i++) await world.time.advance(5_000)
}
