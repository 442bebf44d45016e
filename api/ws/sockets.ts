// Assembles the live stream /ws from the HTTP server's upgrades, the WebSocket server, the feed and the sockets.
import { randomBytes } from 'node:crypto'
import type { IncomingMessage, Server } from 'node:http'
import { networkOf } from '../../engine/domain/network-of.ts'
import type { Schedule } from '../../engine/ports/schedule.ts'
import type { Users } from '../../engine/ports/users.ts'
import { Budget } from './budget.ts'
import { Connection, type ConnectionPorts, type SocketLogger } from './connection.ts'
import { FleetHub } from './fleet-hub.ts'
import { Hub } from './hub.ts'
import { refusal, refusalFrame } from './refusal-frame.ts'
import { Selections } from './selection.ts'
import type { SocketEngine } from './socket-engine.ts'
import { openTally, type Tally } from './tally.ts'
import { Tunnels } from './tunnel.ts'
import { openWireServer } from './uws.ts'
import type { Handshake, Wire, WireEvents } from './wire.ts'

export interface SocketsOptions
  extends Pick<
    ConnectionPorts,
    | 'authenticate'
    | 'redeemTicket'
    | 'clock'
    | 'limits'
    | 'heartbeatTimeoutMs'
    | 'typeHeartbeatMs'
    | 'work'
    | 'publicUrl'
  > {
  readonly engine: SocketEngine
  readonly users: Pick<Users, 'onChange'>
  readonly schedule: Pick<Schedule, 'after'>
  readonly logger?: SocketLogger | undefined
  readonly isKnownHost?: (header: string | undefined) => boolean
  /** The address of a request's sender. If left out, no proxy is trusted to know it. */
  readonly clientOf?: (request: IncomingMessage) => string
}

export interface SocketCounts extends Readonly<Tally> {
  readonly connections: number
  readonly subscriptions: number
  readonly heldBytes: number
}

export interface Sockets {
  /** The loopback port of the WebSocket server, which serves only the tunnel. */
  readonly port: number
  /** Also serves the upgrades of this server. */
  attach(server: Server): void
  counts(): SocketCounts
  /** Closes every socket with 1012, and resolves when all are gone. */
  close(): Promise<void>
}

/** Handshakes allowed while all sockets are taken. Their clients are refused in a frame. */
const TUNNELS_BEYOND_SOCKETS = 64

export async function openSockets(options: SocketsOptions): Promise<Sockets> {
  const { engine, users, limits, schedule, heartbeatTimeoutMs, typeHeartbeatMs } = options
  const tally = openTally()
  const heldBudget = new Budget(limits.heldBytesMax)
  const selections = new Selections(limits.metricNamesPerUserMax)
  const about = { devices: engine.devices, heartbeatTimeoutMs, typeHeartbeatMs, publicUrl: options.publicUrl }
  const { feed, deployments } = engine
  const hub = new Hub({ feed, deployments, notices: about, clock: options.clock, schedule, limits })
  const fleetHub = new FleetHub({
    ...{ fleet: engine.fleet, clock: options.clock, limits },
    failed: (err) =>
      options.logger?.error(
        { err },
        'the channel fleet failed because of a bug in Fleet: please report this line',
      ),
  })
  const connections = new Set<Connection>()
  const secret = randomBytes(24).toString('base64url')
  const stopListening = users.onChange((changed) => {
    for (const connection of [...connections]) connection.review(changed)
  })
  let opened = 0

  function accept(wire: Wire, handshake: Handshake): WireEvents {
    makeRoom(handshake.ip)
    if (connections.size >= limits.socketsMax) return refuseSocket(wire)
    opened += 1
    const connection = new Connection(wire, handshake, {
      ...options,
      id: `ws_${opened}`,
      logger: options.logger,
      hub,
      fleetHub,
      selections,
      heldBudget,
      tally,
      onClosed: (closed) => connections.delete(closed),
      socketsOf: (userId) => [...connections].filter((other) => other.userId === userId).length,
    })
    connections.add(connection)
    return connection
  }

  /** Sockets without a login are cheap to lose, so the oldest one is closed if there are too many. */
  function makeRoom(ip: string): void {
    const waiting = [...connections].filter(({ userId }) => userId === undefined)
    const network = networkOf(ip)
    const ofAddress = waiting.filter((other) => networkOf(other.ip) === network)
    const isCrowded = waiting.length >= limits.loginsWaitingMax || connections.size >= limits.socketsMax
    const oldest =
      ofAddress.length >= limits.loginsWaitingPerAddressMax
        ? ofAddress[0]
        : isCrowded
          ? waiting[0]
          : undefined
    oldest?.end('tryLater', 'a newer socket took its place before the login')
  }

  const server = await openWireServer({
    limits,
    tally,
    secret,
    tunnel: (id) => tunnels.find(id),
    accept,
  })
  const tunnels = new Tunnels({
    port: server.port,
    secret,
    tunnelsMax: limits.socketsMax + TUNNELS_BEYOND_SOCKETS,
    lingerMs: limits.socketLingerMs,
    isKnownHost: options.isKnownHost ?? (() => true),
    clientOf: options.clientOf ?? (({ socket }) => socket.remoteAddress ?? ''),
    schedule,
    onRefused: () => {
      tally.refused += 1
    },
  })

  return {
    port: server.port,
    attach: (http) => tunnels.attach(http),
    counts: () => ({
      ...tally,
      closed: { ...tally.closed },
      connections: connections.size,
      subscriptions: [...connections].reduce((sum, { subscriptionCount }) => sum + subscriptionCount, 0),
      heldBytes: heldBudget.used,
    }),
    close: async () => {
      hub.close()
      fleetHub.close()
      stopListening()
      for (const connection of [...connections]) connection.end('restart', 'restarting')
      await tunnels.close()
      server.close()
    },
  }
}

function refuseSocket(wire: Wire): WireEvents {
  wire.send(
    refusalFrame(
      refusal('RATE_LIMIT_EXCEEDED', 'the service has too many sockets open; try again later'),
      'ws',
    ),
  )
  wire.end('tooMany', 'the service has too many sockets open; try again later')
  return { received() {}, tooLarge() {}, drained() {}, closed() {} }
}
