// How an engine closes: first it takes no more work, then it finishes what it has, then it closes its parts.
import { LIMITS } from '../limits.ts'
import type { Ports } from '../ports/engine.ts'
import type { EngineParts } from './compose-engine.ts'
import { shuttingDown } from './shutting-down.ts'

/** The steps in the order in which they run. Each closes something that the later steps do not need. */
export function closeSteps(
  { clock, cluster, broker, telemetry, store, log }: Ports,
  parts: EngineParts,
  {
    stops,
    sleep,
  }: { readonly stops: readonly (() => void)[]; readonly sleep: (ms: number) => Promise<void> },
): Readonly<Record<string, () => unknown>> {
  let until = 0
  const leftMs = () => Math.max(0, until - clock.ticks())
  const within = (ms: number, work: Promise<unknown> | undefined) => Promise.race([work, sleep(ms)])
  return {
    stopLeading: () => parts.leader.end(),
    closeAlertBook: () => parts.alertBook.close(),
    releaseWaits: () => parts.waits.fail(),
    stopWatching: () => parts.fleet.close(),
    stopTimers: () => {
      for (const stop of stops) stop()
    },
    closeLanes: () => within(LIMITS.lanesStopTimeoutMs, parts.lanes?.close()),
    // Devices stay connected to a broker outside and are sent messages until the end.
    closeOwnBroker: () => (cluster === undefined ? broker.close() : undefined),
    handOverPartitions: () => parts.members?.close(),
    closeIngest: () => parts.ingest.close(),
    closeShards: () => {
      until = clock.ticks() + LIMITS.shardStopTimeoutMs
      return parts.shards.close(LIMITS.shardStopTimeoutMs)
    },
    // In a cluster, the next owners of the partitions answer the requests that are still open.
    awaitReplies: () => (cluster === undefined ? undefined : within(leftMs(), parts.replies.settled())),
    saveRefusals: () => within(leftMs(), parts.audit.close()),
    // Rows that are not stored in time stay in the outbox.
    storeHistory: () => parts.history.close(leftMs()),
    failReplies: () => parts.replies.fail(shuttingDown()),
    stopPerforming: () => parts.performer.close(),
    leaveOutsideBroker: () => (cluster === undefined ? undefined : broker.close()),
    closeFeed: () => parts.feed.close(),
    closeInserters: () => {
      for (const inserter of parts.inserters) inserter.close()
    },
    closeTelemetry: () => telemetry.close(),
    closeStore: () => store.close(),
    closeLog: () => log.close(),
  }
}
