// Runs a simulated cluster. A seed decides what devices, callers and faults do. Then all faults end, and everything that
// was promised must be true.
import { decommissionOne, edit, look } from '../acts.ts'
import { Callers, TIMEOUT_SEC_MAX } from '../callers.ts'
import { checkAtRest } from '../checks.ts'
import { Listener } from '../listener.ts'
import type { Run } from '../simulate.ts'
import type { SimulatedDevice } from '../simulated-device.ts'
import { ClusterWorld } from './cluster-world.ts'

const STEPS = 50

export async function simulateCluster(seed: number): Promise<Omit<Run, 'deaths'>> {
  const world = new ClusterWorld(seed)
  const callers = new Callers(world)
  world.listen(() => new Listener(world))
  await world.start()
  await world.time.advance(3_000)
  for (let i = 0; i < 8; i++) world.register(i < 3)
  for (let step = 0; step < STEPS && world.violations.length === 0; step++) await stepOnce(world, callers)
  await comeToRest(world)
  await checkAtRest(world, undefined)
  for (const node of [...world.nodes]) world.kill(node)
  const { violations, trace } = world
  return { seed, violations, hash: world.hash(), trace }
}

async function stepOnce(world: ClusterWorld, callers: Callers): Promise<void> {
  const { dice, luck } = world
  for (const device of world.devices) {
    const promised = world.promised.get(device.id)
    if (promised === undefined) continue
    if (!promised.isRegistered && dice.chance(0.2)) world.tryRegister(device, 'mqtt_device')
    if (!device.isConnected() && (device.isSteady || dice.chance(luck.returns))) await connect(world, device)
    if (!world.outside.isRead(device.id)) continue
    if (device.isSteady) device.publish()
    for (let acts = dice.between(0, 3); acts > 0; acts--) device.act()
    if (promised.isRegistered && dice.chance(0.05)) edit(world, device)
    if (promised.isRegistered && dice.chance(0.1)) callers.act(device)
    if (promised.isRegistered && dice.chance(0.1))
      world.process?.after(dice.between(0, 2_000), () => look(world, device))
  }
  if (dice.chance(0.01)) decommissionOne(world)
  await world.causeFaults()
  await world.time.advance(dice.pick([20, 100, 400, 1_500, 3_000, 9_000]))
  if (dice.chance(0.02)) void world.settle()
}

async function connect(world: ClusterWorld, device: SimulatedDevice): Promise<void> {
  if (world.nodes.length > 0 && world.outside.isRead(device.id)) await device.connect(world.outside.broker)
}

async function comeToRest(world: ClusterWorld): Promise<void> {
  await world.calm()
  for (let waited = 0; waited < 300_000 && (waited < 20_000 || world.isBehind()); waited += 5_000) {
    for (const device of world.devices) if (device.isSteady && device.isConnected()) device.publish()
    await world.time.advance(5_000)
  }
  for (const device of world.devices) {
    if (!device.isConnected() && !device.isGone) await connect(world, device)
    device.mend()
    device.publish()
  }
  for (let waited = 0; waited < (TIMEOUT_SEC_MAX + 15) * 1_000; waited += 5_000) {
    for (const device of world.devices) device.publish()
    await world.time.advance(5_000)
  }
}
