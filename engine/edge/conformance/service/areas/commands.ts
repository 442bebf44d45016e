// CMD and GW: every outcome of a command, broadcasts and sub-devices.
import type { JsonObject } from '../../../../../schemas/json.ts'
import { UnmetCheck } from '../../verdict.ts'
import { rowsOf } from '../rest.ts'
import { expectStatus, expectSuccess, type Run } from '../run.ts'
import {
  check,
  deviceWithCommand,
  messageOn,
  type ServiceCheck,
  sendCommand,
  status,
  untilCommand,
} from '../steps.ts'

export const COMMANDS: readonly ServiceCheck[] = [
  {
    ...check('CMD-01', 'Commands', 'a command is delivered, acknowledged and completed'),
    run: async (run) => {
      const about = await deviceWithCommand(run, { command: 'go', data: { speed: 2 } })
      const { session, requestId } = about
      await untilCommand(run, about, 'delivered')
      await session.publish('command/ack', { request_id: requestId, status: 'acked' })
      await untilCommand(run, about, 'acked')
      await session.publish('command/ack', { request_id: requestId, status: 'completed', result: { far: 3 } })
      await untilCommand(run, about, 'completed')
    },
  },
  {
    ...check('CMD-02', 'Commands', 'a command without an answer expires, and a late answer still counts'),
    run: async (run) => {
      const about = await deviceWithCommand(run, { command: 'go', timeout_sec: 1 })
      const { session, requestId } = about
      await untilCommand(run, about, 'expired')
      await session.publish('command/ack', { request_id: requestId, status: 'completed' })
      await untilCommand(run, about, 'completed')
    },
  },
  {
    ...check(
      'CMD-03',
      'Commands',
      'the answers failed, rejected and in_progress are kept with their details',
    ),
    isSlow: true,
    run: async (run) => {
      const error = { code: 'NO_BAY', message: 'no bay is free' }
      for (const word of ['failed', 'rejected']) {
        const about = await deviceWithCommand(run, { command: 'dock' })
        await about.session.publish('command/ack', {
          request_id: about.requestId,
          status: 'in_progress',
          progress: 40,
        })
        await untilCommand(run, about, 'acked')
        await about.session.publish('command/ack', { request_id: about.requestId, status: word, error })
        const body = await untilCommand(run, about, word)
        if (!JSON.stringify(body).includes('NO_BAY'))
          throw new UnmetCheck('the error of the device is lost', body)
      }
    },
  },
  {
    ...check('CMD-04', 'Commands', 'a command can be cancelled, and the device gets $cancel'),
    run: async (run) => {
      const about = await deviceWithCommand(run, { command: 'dock' })
      const path = `/commands/${about.device.id}/${about.id}`
      const cancelled = await run.rest.call('DELETE', path)
      expectSuccess(cancelled, `DELETE /commands/{id}/{command_id}`)
      await untilCommand(run, about, 'cancelled')
      await run.until('$cancel on MQTT', () =>
        about.session.inbox.find(({ body }) => body?.['command'] === '$cancel'),
      )
      expectStatus(await run.rest.call('DELETE', path), 409, 'DELETE of a command that has ended')
    },
  },
  {
    ...check(
      'CMD-05',
      'Commands',
      'a device that did not acknowledge a command gets it again with the same id',
    ),
    run: redelivery,
  },
  {
    ...check('CMD-06', 'Commands', 'a disconnected device gets its command after its next connect'),
    isSlow: true,
    run: async (run) => {
      const device = await run.register()
      const id = await sendCommand(run, device, { command: 'go', timeout_sec: 60 })
      await untilCommand(run, { device, id }, 'pending')
      const session = await run.connect(device)
      await run.subscribe(session, device, 'command')
      await session.publish('status', status('online', 's1'))
      const { request_id: requestId } = await messageOn(run, session, 'command')
      await session.publish('command/ack', { request_id: String(requestId), status: 'completed' })
      await untilCommand(run, { device, id }, 'completed')
    },
  },
  {
    ...check('CMD-07', 'Commands', 'a broadcast reaches each device of its group and counts the outcomes'),
    isSlow: true,
    run: broadcast,
  },
  {
    ...check('GW-01', 'Gateways', 'a gateway can publish for its sub-devices and for no other device'),
    run: async (run) => {
      const gateway = await run.register({ type: 'gateway' })
      const child = await run.register({ parent_id: gateway.id })
      const stranger = await run.register()
      const { publish } = await run.connect(gateway)
      await publish(`sub/${child.id}/telemetry`, { n: 7 })
      await publish(`sub/${stranger.id}/telemetry`, { n: 8 })
      await run.until('the value of the sub-device', async () => {
        const { body } = await run.rest.get(`/telemetry/${child.id}`)
        return Object(body['data']).n === 7
      })
      const { body } = await run.rest.get(`/telemetry/${stranger.id}`)
      if (Object(body['data']).n !== undefined)
        throw new UnmetCheck('a gateway published for a device that is not its sub-device', body)
    },
  },
  {
    ...check('GW-02', 'Gateways', 'a command for a sub-device is sent to its gateway, which answers it'),
    isSlow: true,
    run: async (run) => {
      const gateway = await run.register({ type: 'gateway' })
      const child = await run.register({ parent_id: gateway.id })
      const session = await run.connect(gateway)
      await run.subscribe(session, gateway, 'sub/+/command')
      await session.publish('status', status('online', 's1'))
      await session.publish(`sub/${child.id}/status`, { status: 'online' })
      const id = await sendCommand(run, child, { command: 'go' })
      const { request_id: requestId } = await messageOn(run, session, `sub/${child.id}/command`)
      await session.publish(`sub/${child.id}/command/ack`, {
        request_id: String(requestId),
        status: 'completed',
      })
      await untilCommand(run, { device: child, id }, 'completed')
    },
  },
]

async function redelivery(run: Run): Promise<void> {
  const device = await run.register()
  const isKept = { clean: false } as const
  const first = await run.connect(device, isKept)
  // The client receives the message and never acknowledges it.
  first.client.handleMessage = () => undefined
  await run.subscribe(first, device, 'command')
  await first.publish('status', status('online', 's1'))
  const id = await sendCommand(run, device, { command: 'go', timeout_sec: 60 })
  await run.until('the command', () => first.received() > 0)
  first.client.stream.destroy()
  const second = await run.connect(device, isKept)
  await run.subscribe(second, device, 'command')
  await second.publish('status', status('online', 's2'))
  const { request_id: requestId } = await messageOn(run, second, 'command')
  await second.publish('command/ack', { request_id: String(requestId), status: 'completed' })
  await untilCommand(run, { device, id }, 'completed')
}

async function broadcast(run: Run): Promise<void> {
  const group = `${run.group}/broadcast`
  const words = ['completed', 'completed', 'failed'] as const
  const sessions = await Promise.all(
    words.map(async () => {
      const device = await run.register({ group })
      const session = await run.connect(device)
      await run.subscribe(session, device, 'command')
      await session.publish('status', status('online', 's1'))
      return session
    }),
  )
  const made = await run.rest.post('/commands/$broadcast', { group, command: 'go', timeout_sec: 60 })
  expectStatus(made, 202, 'POST /commands/$broadcast')
  const orders = await Promise.all(sessions.map((session) => messageOn(run, session, 'command')))
  await Promise.all(
    sessions.map((session, n) =>
      session.publish('command/ack', {
        request_id: String(orders[n]?.['request_id']),
        status: words[n] ?? 'failed',
      }),
    ),
  )
  const path = `/commands/$broadcast/${made.body['broadcast_id']}`
  await run.until('two completed and one failed', async () => {
    const counts: JsonObject = Object((await run.rest.get(path)).body['counts'])
    return counts['completed'] === 2 && counts['failed'] === 1
  })
  const failed = rowsOf((await run.rest.get(`${path}/devices?status=failed`)).body)
  if (failed.length !== 1) throw new UnmetCheck(`the list contains ${failed.length} failed devices, not one`)
}
