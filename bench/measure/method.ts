// The words around the table: how the figures come about, and what they do not say.

export const METHOD = `## Method

- Everything runs on one machine over loopback, load generator included: it shares the cores with the service, so
  rates are what is left for the service beside it. Nothing is pinned.
- The service is the program as started by \`npm start\` (\`node dist/api/service/main.js\`), with a fresh data directory per
  scenario. Its CPU is that of its whole process tree, ClickHouse child included, from \`/proc/<pid>/stat\`; "main" is
  its event loop, "busiest thread" the shard where there is one shard. Kernel work for a received packet is billed to
  whoever is running when it arrives, mostly the sender: part of the broker's cost is in the generator's figure.
- Devices are plain sockets of a second process, with CONNECT and PUBLISH packets encoded ahead. QoS 1, payload of eight
  numeric leaves (about 130 bytes) without a timestamp, values walking at a sensor's precision. Closed loop: each device
  keeps a fixed number of messages unanswered (64 at 100 sockets, 16 at 1 000, 4 at 10 000). Open loop: a fixed
  schedule, latency counted from the scheduled time, so a stall delays everything scheduled during it.
- Ingest is timed from the first publish until every acknowledged message is stored and queryable: the service's counter
  of inserted rows has reached the number sent and the last messages of 16 devices are found. Then every device (500 of
  10 000) is counted exactly through \`GET /telemetry/{id}/history\`; a point too few or too many is reported. Two seconds of
  warm-up come before, and are counted too. CPU is taken before that counting.
- "Share of floor" compares with the same machine in the same run: messages/s with aedes that has no consumer; CPU with
  the sum of JSON.parse + flatten of the same payloads and the insert of the same rows in blocks built ahead.
- The glue peer is mosquitto, a Node process (mqtt.js, JSON.parse, flatten, \`@clickhouse/client\` with JSONEachRow batches of
  10 000 rows or 1 s) and the same kind of ClickHouse child with a plain MergeTree table. Its CPU is that of all three.
- Half load is half of the best rate in the same way of sending: of the ingest run for bursts of 8, of a run with one
  unanswered message per device for single messages. Fifty further devices send numbered messages, 500 a second together,
  whose arrival on \`/ws\` is timed.
- Commands: the generator POSTs on kept connections, holds the devices' sockets and watches one \`/ws\` subscription to
  all commands; a round trip ends when \`completed\` is read there. Shadows: PUT with If-Match on kept connections, one
  writer per shadow; requests and replies are bare HTTP/1.1 bytes, which keeps the generator's share small. The GET beside
  it shows what REST alone costs. Broadcast: devices and generator share the cores with the service.
- REST reads: autocannon on 64 kept connections, in the bench's own process, against the service and against Fastify
  that answers the same bytes as a constant, in turn; the second round counts. Device lists: two connections, so that a
  page's time is not a queue's.
- The cluster profile: nodes as processes of their own on this machine, with nats-server (an fsync per append), redis-server
  (\`appendfsync always\`), one ClickHouse child, and mosquitto as a plain broker in place of EMQX; 1 000 sockets with 16
  unanswered messages each. mosquitto acknowledges at once and keeps what waits, so a run is a fixed number of messages,
  timed from the first publish until ClickHouse has counted their points. Takeover is timed from kill -9 to the first
  answer about a device of each of its partitions, rebalancing from the new node's entry in the table of owners to even
  shares; for the outage nodes reach ClickHouse through a proxy that is closed.
- Percentiles come from a histogram with 1.6 % resolution. Figures taken while the hypervisor took more than 2 %, or other
  processes more than 10 %, say NOISY.

## What is not measured

- A network: loopback has no latency, loss or TLS. TLS would add its handshakes and ciphers to every figure.
- More than one machine or more cores than stated. EMQX: its rules, its cost, and the properties it adds to a message.
- Replicas: one nats-server, one Redis, one ClickHouse.
- Days: merges, retention and memory over long times. The longest run here is a few minutes.
- Power cuts: \`power\` waits for fsync; whether the disk keeps its word is the disk's.
- Kernel memory of sockets; page cache.
- Commands that take time: devices answer at once, and are all connected. Devices that follow their shadows.
- Many dashboards: one \`/ws\` client watches 50 devices.
`
