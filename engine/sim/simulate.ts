// Runs the simulation of one process. A seed decides what devices, callers and faults do. Then all faults end, and
// everything that was promised must be true.
import { decommissionOne, edit, look } from './acts.ts'
import { Alerting } from './alerting.ts'
import { Callers, TIMEOUT_SEC_MAX } from './callers.ts'
import { checkAtRest } from './checks.ts'
import { Listener } from './listener.ts'
import { World } from './world.ts'

export interface Run {
  readonly seed: number
  readonly violations: readonly string[]
  /** The steps at which the process died. */
  readonly deaths: readonly string[]
  readonly hash: string
  readonly trace: readonly string[]
}

const STEPS = 100
const HOUR_MS = 3_600_000

export async function simulate(seed: number): Promise<Run> {
  const world = new World(seed)
  const callers = new Callers(world)
  const alerting = world.dice.chance(0.5) ? new Alerting(world) : undefined
  if (alerting !== undefined) world.notify(alerting)
  world.listen(new Listener(world))
  await world.start()
  const devices = world.dice.between(3, 8)
  for (let i = 0; i < devices; i++) world.register(i < devices / 3)
  if (world.dice.chance(0.5)) registerFamily(world)
  for (let step = 0; step < STEPS && world.violations.length === 0; step++) {
    alerting?.prepare()
    await stepOnce(world, callers)
  }
  await comeToRest(world)
  await checkAtRest(world, alerting)
  world.crash()
  const { violations, deaths, trace } = world
  return { seed, violations, deaths, hash: world.hash(), trace }
}

/** Registers a gateway and its sub-devices, whose messages keep a steady gateway online. */
function registerFamily(world: World): void {
  const isSteady = world.dice.chance(0.5)
  const gateway = world.register(isSteady, { type: 'gateway' })
  for (let i = 0; i < 2; i++) world.register(isSteady && i === 0, { gateway })
}

async function stepOnce(world: World, callers: Callers): Promise<void> {
  const { dice, luck } = world
  if (world.process === undefined) await restart(world)
  for (const device of world.devices) {
    const promised = world.promised.get(device.id)
    if (promised === undefined) continue
    if (!promised.isRegistered && dice.chance(0.2))
      world.tryRegister(device, device.subDevices.length > 0 ? 'gateway' : 'mqtt_device')
    if (!device.isConnected() && (device.isSteady || dice.chance(luck.returns))) await connect(world, device)
    // A steady device speaks in every step, and a step is shorter than the heartbeat timeout.
    if (device.isSteady) speak(device)
    for (let acts = dice.between(0, 3); acts > 0; acts--) device.act()
    if (device.subDevices.length > 0 && dice.chance(0.1)) forge(world, device)
    // A second connection of the same device takes over from the first.
    if (dice.chance(0.02) && device.isConnected()) await connect(world, device)
    if (promised.isRegistered && dice.chance(0.05)) edit(world, device)
    if (promised.isRegistered && dice.chance(0.1)) callers.act(device)
    // At a random later time, a save or a restart of a shard may be in progress.
    if (promised.isRegistered && dice.chance(0.1))
      world.process?.after(dice.between(0, 2_000), () => look(world, device))
  }
  await causeFaults(world)
}

/** Causes faults and lets time pass. */
async function causeFaults(world: World): Promise<void> {
  const { dice, luck } = world
  if (dice.chance(luck.outages)) world.setClickHouse(dice.chance(0.5))
  if (dice.chance(0.005)) decommissionOne(world)
  if (dice.chance(luck.pauses)) {
    world.time.jump(120_000)
    world.say('paused for two minutes')
  }
  if (dice.chance(luck.clockSets)) {
    const ms = dice.between(-HOUR_MS, HOUR_MS)
    world.time.set(ms)
    world.say(`clock set by ${ms}`)
  }
  await world.time.advance(dice.pick([1, 20, 100, 400, 3_000, 9_000]))
  if (dice.chance(luck.stops)) await world.stop()
  else if (dice.chance(luck.crashes)) world.crash()
  // This is not awaited, because it needs the time that passes in the next steps.
  if (dice.chance(0.02)) void world.process?.engine.settleRollups()
}

/** Starts a new process after a while. */
async function restart(world: World): Promise<void> {
  await world.time.advance(world.dice.between(0, 5_000))
  await world.start()
}

type Device = World['devices'][number]

/** True for a sub-device whose registration is not confirmed yet. Its gateway does not speak for it, because its messages
 *  would be refused. */
function isTooNew(world: World, { id, gateway }: Device): boolean {
  return gateway !== undefined && world.promised.get(id)?.isRegistered !== true
}

function speak(device: Device): void {
  if (device.subDevices.length === 0) device.publish()
}

function forge(world: World, gateway: Device): void {
  const others = world.devices.filter((one) => one.gateway === undefined && one !== gateway)
  const registered = others.filter(({ id }) => world.promised.get(id)?.isRegistered)
  if (registered.length > 0) gateway.forge(world.dice.pick(registered))
}

async function connect(world: World, device: Device): Promise<void> {
  const broker = world.process?.broker
  if (broker === undefined || isTooNew(world, device)) return
  await device.connect(broker)
  // The process may have died meanwhile.
  if (world.process?.broker !== broker) device.session = undefined
}

/** Ends all faults, lets every device reconnect and speak once more, and gives everything time to arrive. */
async function comeToRest(world: World): Promise<void> {
  world.calm()
  if (world.process === undefined) await restart(world)
  // It takes a while until a hanging thread is replaced, or a message that kills its shard becomes a dead letter. Both may
  // happen many times. Meanwhile steady devices go on speaking.
  for (let waited = 0; waited < 300_000 && (waited < 35_000 || world.isBehind()); waited += 5_000) {
    for (const device of world.devices) if (device.isSteady) speak(device)
    await world.time.advance(5_000)
  }
  for (const device of world.devices) {
    if (!device.isConnected() && !device.isGone) await connect(world, device)
    device.mend()
    device.publish()
  }
  // By the end of this loop every command has ended.
  for (let waited = 0; waited < (TIMEOUT_SEC_MAX + 15) * 1_000; waited += 5_000) {
    // All devices publish, so that none falls silent.
    for (const device of world.devices) device.publish()
    await world.time.advance(5_000)
  }
}
