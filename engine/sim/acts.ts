// Callers of the REST API edit, view and decommission single devices. Their answers are checked at once.
import type { BaseWorld } from './base-world.ts'
import type { SimulatedDevice } from './simulated-device.ts'

/** Half of the edits name the revision that they expect. */
export function edit(world: BaseWorld, device: SimulatedDevice): void {
  const promised = world.promised.get(device.id)
  if (promised === undefined || promised.isDecommissioned) return
  const edits = promised.edits + 1
  const ifRevision = world.dice.chance(0.5) ? world.store.devices.get(device.id)?.revision : undefined
  // Every edit has a new value, so that it changes something.
  const metadata = { edits, mark: world.dice.roll() }
  world.request(device.id, { kind: 'edit', replace: false, metadata, ifRevision }, (kept, answer) => {
    kept.edits = Math.max(kept.edits, edits)
    if (ifRevision === undefined) kept.plainEdits = kept.edits
    if (answer.kind !== 'done' || ifRevision === undefined) return
    if (kept.editedOn.has(ifRevision))
      world.violate(`${device.id} was edited twice on revision ${ifRevision}`)
    kept.editedOn.add(ifRevision)
  })
}

/** An answer must show every change that was acknowledged before the question. A question may also get no answer. */
export function look(world: BaseWorld, device: SimulatedDevice): void {
  const { process } = world
  const transmission = device.ackedTransmission
  const edits = world.promised.get(device.id)?.edits ?? 0
  const isGone = device.mayBeGoneFrom < Number.POSITIVE_INFINITY
  process?.engine.snapshot(device.id).then(
    (snapshot) => {
      const t = Number(snapshot?.data['t'] ?? 0)
      if (t < transmission && !isGone)
        world.violate(`${device.id} shows transmission ${t} after ${transmission} was acknowledged`)
    },
    () => world.say(`${device.id} snapshot unknown`),
  )
  process?.engine.view(device.id).then(
    (view) => {
      const shown = Number(view?.device.metadata['edits'] ?? 0)
      if (shown < edits) world.violate(`${device.id} shows edit ${shown} after ${edits} was done`)
    },
    () => world.say(`${device.id} view unknown`),
  )
}

/** Decommissions one of the devices that are not steady. */
export function decommissionOne(world: BaseWorld): void {
  const device = world.dice.pick(world.devices.filter(({ isSteady }) => !isSteady))
  device.mayBeGoneFrom = Math.min(device.mayBeGoneFrom, world.time.ticks())
  const wish = world.dice.chance(0.5)
    ? ({ kind: 'decommission' } as const)
    : ({ kind: 'edit', replace: false, status: 'decommissioned' } as const)
  world.request(device.id, wish, (promised) => {
    promised.isDecommissioned = true
    device.isGone = true
  })
}
