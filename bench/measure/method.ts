// The last part of BENCHMARKS.md, which says how the figures are measured and what they do not include.

export const METHOD = `## Method

- Everything runs on one machine over loopback. The load generator shares the cores with the service, so a rate is what
  the rest of the machine allows. No process is pinned to a core.
- The service is the program that \`npm start\` starts (\`node dist/program/service.js\`), with a fresh data directory for
  each scenario. Its CPU is that of its whole process tree with the ClickHouse child, from \`/proc/<pid>/stat\`. "main" is
  its event loop, and "busiest thread" is the shard if there is only one. The kernel charges its work on a received packet
  to the process that happens to run, mostly the sender, so part of the broker's cost is in the generator's figure.
- Devices are plain sockets of a second process, whose CONNECT and PUBLISH packets are encoded in advance. Messages have
  QoS 1 and a payload of eight numbers (about 130 bytes) without a timestamp; values are random walks with a sensor's
  precision. In a closed loop each device keeps a fixed number of messages unacknowledged (64 at 100 sockets, 16 at 1 000,
  4 at 10 000). In an open loop messages follow a fixed schedule and latency counts from the scheduled time, so a stall
  delays everything that was scheduled during it.
- Ingest is timed from the first publish until every acknowledged message is stored and queryable: the service's counter
  of inserted rows has reached the number of points sent, and the last messages of 16 devices are found. Then every device
  (500 of 10 000) is counted exactly through \`GET /telemetry/{id}/history\`, and each missing or duplicated point is
  reported. The count includes the two seconds of warm-up. CPU is read before the counting.
- A floor is the least that the machine needs, measured in the same run: for messages/s, aedes without a consumer; for CPU,
  JSON.parse and flatten of the same payloads plus the insert of the same rows in prebuilt blocks.
- The glue peer is mosquitto, a Node process (mqtt.js, JSON.parse, flatten, \`@clickhouse/client\` with JSONEachRow batches of
  10 000 rows or 1 s) and the same kind of ClickHouse child with a plain MergeTree table. Its CPU is the sum of all three.
- Half load is half of the best rate for the same pattern of sending: of the ingest run for bursts of 8, and of a run with
  one unacknowledged message per device for single messages. Fifty more devices together send 500 numbered messages a
  second, whose arrival on \`/ws\` is timed.
- Commands: the generator sends POST requests on keep-alive connections, holds the devices' sockets, and watches one \`/ws\`
  subscription to all commands. A round trip ends when \`completed\` arrives there. Shadows: PUT with If-Match on keep-alive
  connections, one writer per shadow; requests and replies are raw HTTP/1.1 bytes, which keeps the generator's share small.
  The GET of the same shadows shows the cost of REST alone. Broadcast: devices and generator share the cores with the
  service.
- REST reads: autocannon on 64 keep-alive connections, in the bench's own process, against the service and against Fastify
  that answers the same bytes as a constant, in turn; the second round counts. Device lists use two connections, so that
  the time of a page is not the time in a queue.
- The cluster profile: nodes are processes on this machine, with nats-server (an fsync per append), redis-server
  (\`appendfsync always\`), one ClickHouse child, and mosquitto as a plain broker in place of EMQX. There are 1 000 sockets
  with 16 unacknowledged messages each. mosquitto acknowledges at once and queues the messages, so a run is a fixed number
  of messages, timed from the first publish until ClickHouse has counted their points. Takeover is timed from kill -9 to
  the first answer about a device in each of the node's partitions, and rebalancing from the new node's entry in the table
  of owners to even shares. For the outage, nodes reach ClickHouse through a proxy that is closed.
- Three loads of the cluster: 1 000 sockets send singly on a schedule. The CPU per message includes what the processes use
  without messages, which is told as well.
- Alerts: all devices pass a threshold within a second, while 100 others send 500 messages a second on a schedule, whose
  PUBACK latency is compared with that beside as many messages that move nothing.
- Prices: CPU of the whole service for one request at a time, as a multiple of a plain GET of a device in the same run.
- Firmware and rollout: the devices of the rollout are simulated, install for a second, restart for another, and download
  nothing, so that what is measured is the deployment. Downloads are measured apart, beside a bare Node stream.
- Simulator and bridge: the CPU is that of their own process. The robot of the bridge is a WebSocket server in the bench's
  process that speaks as rosbridge does.
- The dashboard: Chromium runs on the same two cores as the service and the devices, without a graphics card.
- Percentiles come from a histogram with a resolution of 1.6 %. A figure is marked NOISY if the hypervisor took more than
  2 % of the CPU meanwhile, or other processes more than 10 %.

## What is not measured

- A network: loopback has no latency, loss or TLS. TLS would add its handshakes and ciphers to every figure.
- More than one machine or more cores than stated. EMQX: its rules, its cost, and the properties it adds to a message.
- Replicas: one nats-server, one Redis, one ClickHouse.
- Days: merges, retention and memory over a long time. The longest run here takes twelve minutes.
- Power cuts: with \`power\` the log waits for fsync. Whether the disk keeps that promise was not tested.
- Memory of the kernel: sockets and page cache.
- Commands that take time: all devices are connected and answer at once. Devices that follow their shadows.
- Hours of a dashboard's life in one page.
`
