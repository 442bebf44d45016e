// A device for tests that listens: keeps what it received, and answers.
import type { IClientOptions, MqttClient } from 'mqtt'
import { type Service, until } from './service.ts'
import { connectDevice, publish } from './service-clients.ts'
import { type Rest, registerDevice } from './service-rest.ts'

type Body = Readonly<Record<string, unknown>>

export interface ReceivedMessage {
  /** The topic after `fleet/{device_id}/`. */
  readonly suffix: string
  readonly body: Body
  readonly retain: boolean
  readonly qos: number
}

export interface ListeningDevice {
  readonly id: string
  readonly token: string
  readonly client: MqttClient
  readonly inbox: readonly ReceivedMessage[]
  next(what: string, fits: (message: ReceivedMessage) => boolean): Promise<ReceivedMessage>
  /** The received commands, in order. */
  commands(): readonly Body[]
  say(suffix: string, body: unknown): Promise<unknown>
  ack(requestId: unknown, status: string, more?: object): Promise<unknown>
  end(): Promise<void>
}

/** Registers a device unless a token is given, connects it and subscribes it to its whole namespace. */
export async function listen(
  service: Pick<Service, 'mqttUrl'>,
  rest: Rest,
  device: { readonly id: string; readonly token?: string; readonly about?: object },
  options: IClientOptions = {},
): Promise<ListeningDevice> {
  const { id, about } = device
  const token = device.token ?? (await registerDevice(rest, id, about))
  const client = await connectDevice(service, id, token, options)
  const inbox: ReceivedMessage[] = []
  // Packets are noted as they arrive, since the client reports a QoS 2 message only at the end of its handshake.
  client.on('packetreceive', (packet) => {
    if (packet.cmd !== 'publish') return
    const { topic, payload, retain, qos } = packet
    inbox.push({ suffix: topic.slice(`fleet/${id}/`.length), body: toBody(payload.toString()), retain, qos })
  })
  for (const suffix of ['command', 'shadow/desired', 'shadow/reported/+', 'shadow/get/accepted'])
    await client.subscribeAsync(`fleet/${id}/${suffix}`, { qos: 2 })
  const say = (suffix: string, body: unknown) => publish(client, id, body, suffix)
  return {
    id,
    token,
    client,
    inbox,
    next: (what, fits) => until(what, () => inbox.find(fits)),
    commands: () => inbox.filter(({ suffix }) => suffix === 'command').map(({ body }) => body),
    say,
    ack: (requestId, status, more = {}) => say('command/ack', { request_id: requestId, status, ...more }),
    end: () => client.endAsync(),
  }
}

function toBody(text: string): Body {
  const value: unknown = text === '' ? {} : JSON.parse(text)
  // The service publishes objects; anything else fails the test that reads it.
  return Object(value) as Body
}
