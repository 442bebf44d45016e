// What the parts of an engine report, and the one place that turns reports into metrics and log lines. Reports do not
// influence the parts that make them.
import type { BroadcastId, Millis } from '../../schemas/ids.ts'
import type { Clock } from '../ports/clock.ts'
import type { Fault } from '../ports/fault.ts'
import type { Block } from '../ports/telemetry.ts'
import type { NotifierSignal } from './alerts/notifier.ts'
import type { Metrics } from './metrics.ts'
import type { WorkResult } from './shard/protocol.ts'

export type InsertSignal =
  | { readonly kind: 'inserted'; readonly block: Block; readonly seconds: number }
  | { readonly kind: 'insert_failed'; readonly block: Block; readonly fault: Fault }
  /** ClickHouse will never take these rows. */
  | { readonly kind: 'insert_refused'; readonly block: Block; readonly fault: Fault }
  /** ClickHouse refused these messages of the block, which are dead letters now. The rest of the block is stored. */
  | {
      readonly kind: 'messages_refused'
      readonly block: Block
      readonly messages: number
      readonly fault: Fault
    }
  | { readonly kind: 'parking_failed'; readonly block: Block; readonly error: unknown }

export type HistorySignal = InsertSignal | { readonly kind: 'outbox_failed'; readonly fault: Fault }

export interface SaveSignal {
  readonly kind: 'save_failed'
  readonly fault: Fault
}

export type RunnerSignal =
  | SaveSignal
  | { readonly kind: 'worked'; readonly result: WorkResult }
  | { readonly kind: 'read_failed'; readonly error: unknown }
  | { readonly kind: 'load_failed'; readonly fault: Fault }
  | { readonly kind: 'shard_lost'; readonly error: unknown }

export type ShardSignal =
  | RunnerSignal
  | { readonly kind: 'claim_failed'; readonly fault: Fault }
  | { readonly kind: 'fenced'; readonly error: unknown }

export interface AuditSignal {
  readonly kind: 'audit_lost'
  readonly entries: number
  readonly error: unknown
}

export interface BroadcastSignal {
  readonly kind: 'broadcast_stopped' | 'broadcast_waits'
  readonly broadcastId: BroadcastId
  readonly error: unknown
}

export interface FeedSignal {
  readonly kind: 'listener_failed' | 'news_unreadable'
  readonly error: unknown
}

export type Signal =
  | HistorySignal
  | (ShardSignal & { readonly shard: number })
  | AuditSignal
  | BroadcastSignal
  | FeedSignal
  | NotifierSignal
  | {
      readonly kind:
        | 'send_failed'
        | 'broadcasts_unsettled'
        | 'rollups_unsettled'
        | 'owners_unknown'
        | 'deployments_stalled'
        | 'duty_failed'
        | 'images_failed'
      readonly error: unknown
    }
  | { readonly kind: 'store_empty' }
  | { readonly kind: 'unfit' | 'fit' }

export type Warn = (message: string, fields: Readonly<Record<string, unknown>>) => void

/** What the log says about signals of these kinds: what happened, what follows, and what to look at. */
const WARNINGS = {
  insert_failed: 'ClickHouse does not take rows: they wait, and the insert is tried again',
  messages_refused:
    'ClickHouse refused messages: they are dead letters, and the rest of their block is stored',
  parking_failed: 'dead letters cannot be saved, and it is tried again: check the disk, or Redis',
  outbox_failed:
    'the outbox of history cannot be read or cleared, and it is tried again: check the disk, or Redis',
  save_failed: 'the store does not save, so devices wait, and it is tried again: check the disk, or Redis',
  read_failed: 'the log cannot be read, so devices wait, and it is tried again: check the disk, or NATS',
  load_failed:
    'devices that this node took over cannot be loaded, so they wait, and it is tried again: check Redis',
  shard_lost: 'a shard failed: it is loaded again from the store and the log',
  claim_failed: 'partitions cannot be claimed, so their devices wait, and it is tried again: check Redis',
  fenced: 'another node has taken over a partition of this shard: the shard starts again without it',
  audit_lost: 'the store does not save, so refusals are missing from the audit: check the disk, or Redis',
  send_failed: 'a message was not sent to its device: the device gets it when it is next due',
  broadcast_stopped: 'a broadcast stopped before every member had its command: it goes on after a restart',
  broadcast_waits: 'a broadcast waits until the log and the store take it: check the disk, or NATS and Redis',
  broadcasts_unsettled:
    'the results of broadcasts could not be saved, and it is tried again: check the disk, or Redis',
  rollups_unsettled: 'rollups could not be computed, and it is tried again: check ClickHouse',
  deployments_stalled:
    'deployments of firmware cannot go on, and it is tried again: the error names what does not answer',
  owners_unknown: 'the table of owners does not answer, and is asked again: check NATS',
  unfit:
    'this node has not reached the store or ClickHouse for a while: nodes that reach them take its devices over',
  fit: 'this node reaches the store and ClickHouse again, and takes its share of devices',
  duty_failed: 'work in the background failed, and it is tried again: the error names what does not answer',
  images_failed:
    'images of firmware could not be cleaned up, and it is tried again later: check the disk, or the S3 service',
  notifier_failed:
    'notices of alerts could not be read or saved, so notifications wait, and it is tried again: check the disk, or Redis',
  notice_unreadable:
    'the notice of an alert cannot be read, so nobody is told of the alert: please report this line',
  listener_failed:
    'a listener of the feed failed because of a bug in Fleet, and misses these events: please report this line',
  news_unreadable: 'news of another node cannot be read: check that all nodes run the same version',
  store_empty:
    'the store is empty: devices are rebuilt from the log; users are not in it, so restore a backup',
} as const

/** Turns signals into metrics and log lines. */
export function signalSink(
  metrics: Metrics,
  { clock, warn }: { readonly clock: Clock; readonly warn: Warn },
): (signal: Signal) => void {
  /** Receive time of each block's oldest message. */
  const receivedAt = new WeakMap<Block, Millis>()
  return (signal) => {
    switch (signal.kind) {
      case 'worked':
        for (const block of signal.result.blocks) receivedAt.set(block, signal.result.blocksSince)
        return metrics.worked(signal.shard, signal.result)
      case 'inserted': {
        const at = receivedAt.get(signal.block)
        const lagSeconds = at === undefined ? undefined : (clock.now() - at) / 1000
        return metrics.inserted(signal.block, signal.seconds, lagSeconds)
      }
      case 'notified':
        return metrics.notified(signal)
      case 'notifications_dropped':
        return metrics.notificationsDropped(signal.reason, signal.alerts)
      case 'insert_refused':
        metrics.insertFailed('refused')
        return warn(refusedText(signal.block), fieldsOf(signal))
      case 'insert_failed':
        metrics.insertFailed('retried')
        break
      case 'messages_refused':
        metrics.insertFailed('refused')
        break
      case 'save_failed':
        metrics.saveFailed()
        break
      case 'shard_lost':
        metrics.lost()
        break
      case 'audit_lost':
        metrics.auditLost(signal.entries)
        break
    }
    // A kind that is missing both above and in `WARNINGS` does not compile.
    warn(WARNINGS[signal.kind], fieldsOf(signal))
  }
}

/** Logs a block as its table and its number of rows. */
function fieldsOf(signal: {
  readonly kind: string
  readonly block?: Block
  readonly fault?: Fault
  readonly error?: unknown
}): Readonly<Record<string, unknown>> {
  const { kind: _, block, fault, error = fault, ...fields } = signal
  return {
    ...(block === undefined ? {} : { table: block.kind, rows: block.rows }),
    ...fields,
    ...(error === undefined ? {} : { err: error }),
  }
}

function refusedText({ kind }: Block): string {
  return kind === 'history' || kind === 'audit'
    ? 'ClickHouse refused rows of the history, and they are lost: mend what the error names'
    : 'ClickHouse refused rows: they stay in the log for its retention time and can be repaired from there'
}
