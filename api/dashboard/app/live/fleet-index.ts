// The page's copy of the fleet: the columns that the worker keeps up, and how far they are.
import { signal } from '@preact/signals'
import type { FleetIndex } from '../../../../schemas/fleet.ts'
import type { FleetStats } from '../../../../schemas/ws.ts'
import { FleetColumns } from '../fleet/columns.ts'
import { PendingDeltas } from '../fleet/pending-deltas.ts'
import { RankCache } from '../fleet/sort-rows.ts'
import type { FromWorker } from './messages.ts'

export type FleetState =
  | { readonly state: 'loading' }
  | { readonly state: 'ready' }
  /** There are more devices than a page can hold: only counts. */
  | { readonly state: 'truncated'; readonly total: number }
  | { readonly state: 'failed'; readonly status: number }

export const columns = new FleetColumns()
export const ranks = new RankCache()
export const fleetState = signal<FleetState>({ state: 'loading' })
/** Grows with every change of the columns: whoever reads it renders when they change. */
export const fleetVersion = signal(0)
/** The index was read without names, which are still to come: ids stand in for them. */
export const areNamesMissing = signal(false)
export const fleetStats = signal<FleetStats | undefined>(undefined)
/** When the columns last heard of the service, by the browser's clock. */
const fleetAt = signal(0)

/** What came while the person had stopped live updates. */
const held = new PendingDeltas()

type FleetMessage = Extract<FromWorker, { readonly kind: `fleet-${string}` }>

export function takeFleet(message: FleetMessage, isPaused: boolean): void {
  switch (message.kind) {
    case 'fleet-index':
      takeIndex(message.index)
      break
    case 'fleet-names':
      columns.loadNames(message.index)
      areNamesMissing.value = false
      fleetVersion.value = columns.version
      break
    case 'fleet-deltas':
      if (message.stats !== undefined && !isPaused) fleetStats.value = message.stats
      for (const delta of message.deltas) held.add(delta)
      if (!isPaused) applyHeld()
      break
    case 'fleet-failed':
      if (fleetState.peek().state === 'loading')
        fleetState.value = { state: 'failed', status: message.status }
      break
  }
}

/** Takes in what came during a pause. */
export function applyHeld(): void {
  fleetAt.value = Date.now()
  if (held.isEmpty) return
  for (const delta of held.take()) columns.apply(delta)
  fleetVersion.value = columns.version
}

function takeIndex(index: FleetIndex): void {
  fleetAt.value = Date.now()
  if (index.truncated) {
    fleetState.value = { state: 'truncated', total: index.total }
    return
  }
  columns.load(index)
  if (index.columns.name.length < index.columns.device_id.length) areNamesMissing.value = true
  fleetVersion.value = columns.version
  if (fleetState.peek().state !== 'ready') fleetState.value = { state: 'ready' }
}
