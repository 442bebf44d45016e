// The body of /system: the state of the service and of its nodes.
import { type Static, Type } from 'typebox'
import { Dependencies } from './health.ts'
import { Instant, object, orNull } from './json-schema.ts'

const Whole = (description: string, example = 0) =>
  Type.Integer({ minimum: 0, description, examples: [example] })
const Rate = (description: string) => Type.Number({ minimum: 0, description, examples: [1200.5] })
const NODE = 'local'

const SystemNode = object('SystemNode', {
  node: Type.String({
    description: 'Its address among the nodes; `local` if it is the only one.',
    examples: [NODE],
  }),
  answers: Type.Boolean({
    description: 'False if it did not answer: then the rest is null or empty, and not in the sums.',
  }),
  leads: Type.Boolean({ description: 'It does what one node does for all.' }),
  version: orNull(Type.String({ examples: ['1.0.0'] })),
  started_at: orNull(Instant),
  partitions: Whole('How many partitions it owns.', 64),
  dependencies: Dependencies,
  metrics: Type.Record(Type.String(), Type.Number(), {
    description: 'The samples of its `/metrics`, without buckets and quantiles.',
    examples: [{ fleet_mqtt_connected: 25 }],
  }),
})

const SystemPartition = object('SystemPartition', {
  id: Whole('Its number.', 7),
  owner: orNull(
    Type.String({ description: 'The `node` that works on it. Null while none does.', examples: [NODE] }),
  ),
  lag_ms: orNull(
    Whole(
      'For how long the oldest message in the log that is not applied yet has waited. Null while it is not known.',
    ),
  ),
})

export const SystemBody = object('System', {
  at: Instant,
  version: Type.String({ description: 'Of the node that answered.', examples: ['1.0.0'] }),
  nodes: Type.Array(SystemNode, {
    description:
      'This node and every owner of a partition. Nodes that only serve requests are not known to others.',
  }),
  partitions: Type.Array(SystemPartition),
  log: orNull(
    Type.Object({
      bytes: Whole('Bytes kept.', 1_048_576),
      bytes_max: Whole('Beyond this it takes nothing until something old can be removed.', 17_179_869_184),
      oldest_at: orNull(Instant),
    }),
  ),
  telemetry: Type.Object({
    rows_waiting: Whole('Rows on their way to ClickHouse, in all nodes.'),
    history_rows_waiting: Whole('Events, commands and other history not yet in ClickHouse.'),
    insert_p99_ms: orNull(
      Type.Number({
        minimum: 0,
        description: 'Of the latest inserts of the slowest node.',
        examples: [42.5],
      }),
    ),
  }),
  sockets: Type.Object({
    open: Whole('Open connections of `/ws`.', 3),
    held_bytes: Whole('Bytes buffered for slow clients.'),
    dropped: Whole('Events left out because nothing more could be held, since the nodes started.'),
  }),
  rates: Type.Object({
    messages_per_sec: Rate('Messages of devices, over the last ten seconds.'),
    points_per_sec: Rate('Points of telemetry, over the last ten seconds.'),
    lag_ms: orNull(Whole('The greatest lag of any partition. Null while none is known.')),
  }),
})
export type SystemBody = Static<typeof SystemBody>
