// Generates the AsyncAPI document of MQTT and /ws from the tables of topics and the schemas of frames.
import type { TSchema } from 'typebox'
import type { Json } from '../../schemas/json.ts'
import {
  ANSWER_MESSAGES,
  CLOUD_MESSAGES,
  type DeviceMessage,
  PROVISION_REQUEST,
  UPLINK_MESSAGES,
} from '../../schemas/mqtt-messages.ts'
import { TOPIC_ROOT } from '../../schemas/topics.ts'
import { CLIENT_FRAMES, CLOSE_CODES, SOCKET_PATHS, SOCKET_PROTOCOL } from '../../schemas/ws.ts'
import { Components, type JsonSchema } from './components.ts'
import { exampleOf } from './example.ts'
import { EVENT_FRAMES, SERVER_FRAMES } from './socket-frames.ts'

export interface AsyncApi {
  readonly asyncapi: '3.0.0'
  readonly info: Readonly<Record<'title' | 'version' | 'description', string>> & { readonly license: object }
  readonly channels: Readonly<Record<string, AsyncChannel>>
  readonly operations: Readonly<Record<string, AsyncOperation>>
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>
    readonly messages: Readonly<Record<string, AsyncMessage>>
    readonly securitySchemes: object
  }
  readonly [member: string]: unknown
}

export interface AsyncChannel {
  readonly address: string
  readonly summary: string
  readonly servers: readonly Ref[]
  readonly parameters?: Readonly<Record<string, { readonly description: string }>>
  readonly messages: Readonly<Record<string, Ref>>
}

export interface AsyncOperation {
  /** Named from the service's point of view. */
  readonly action: 'send' | 'receive'
  readonly channel: Ref
  readonly summary: string
  readonly messages: readonly Ref[]
  readonly bindings?: { readonly mqtt: { readonly qos: number; readonly retain: boolean } }
}

export interface AsyncMessage {
  readonly name: string
  readonly summary: string
  readonly payload: JsonSchema
  readonly examples?: readonly { readonly payload: Json }[]
}

interface Ref {
  readonly $ref: string
}

const DESCRIPTION = `What devices and the service say to each other on MQTT, and what /ws sends to a client. \`receive\` and \`send\` are the service's part: devices publish what it receives.

- **MQTT**: client id and user name are the device id, the password is the device's token, or a provisioning key for the topics \`provision/…\` alone. \`/docs/devices\` has what a device does and what goes wrong.
- **/ws**: subprotocol \`${SOCKET_PROTOCOL}\`. The token of the REST API comes as \`Authorization: Bearer\`, in a first frame \`auth\`, or as a ticket of \`POST /api/v1/auth/ws-ticket\` in \`?ticket=\`. Close codes: ${Object.entries(
  CLOSE_CODES,
)
  .map(([name, code]) => `${code} ${name}`)
  .join(', ')}.
- **Gateways** have each of these topics for each of their sub-devices below \`${TOPIC_ROOT}/{gateway}/sub/{device_id}/\`.`

const HOST = { host: { default: 'localhost', description: 'Where the service runs.' } }
const SERVERS = {
  mqtt: {
    ...{ host: '{host}:1883', protocol: 'mqtt', description: 'MQTT in plain text' },
    ...{ variables: HOST, security: [{ $ref: '#/components/securitySchemes/deviceToken' }] },
  },
  mqtts: {
    ...{ host: '{host}:8883', protocol: 'secure-mqtt', description: 'MQTT over TLS' },
    ...{ variables: HOST, security: [{ $ref: '#/components/securitySchemes/deviceToken' }] },
  },
  live: {
    ...{ host: '{host}:8000', protocol: 'ws', description: 'The live stream; `wss` over TLS' },
    ...{ variables: HOST, security: [{ $ref: '#/components/securitySchemes/bearer' }] },
  },
}
const SECURITY = {
  deviceToken: { type: 'userPassword', description: 'The device id and its token.' },
  bearer: { type: 'http', scheme: 'bearer', description: 'An access token or an API key of the REST API.' },
}

export function toAsyncApi(version: string): AsyncApi {
  const components = new Components()
  const channels: Record<string, AsyncChannel> = {}
  const operations: Record<string, AsyncOperation> = {}
  const messages: Record<string, AsyncMessage> = {}

  const addTopic = (message: DeviceMessage, action: AsyncOperation['action']) => {
    const { name, summary, qos, isRetained: retain } = message
    messages[name] = toMessage(components, { name, summary, payload: message.payload })
    channels[name] ??= topicChannel(message)
    operations[`${action === 'receive' ? 'publish' : 'get'}_${name}`] = {
      action,
      channel: ref(`channels/${name}`),
      summary,
      messages: [ref(`channels/${name}/messages/${name}`)],
      bindings: { mqtt: { qos, retain } },
    }
  }
  for (const message of [...Object.values(UPLINK_MESSAGES).flat(), PROVISION_REQUEST])
    addTopic(message, 'receive')
  for (const message of [...Object.values(CLOUD_MESSAGES), ...ANSWER_MESSAGES]) addTopic(message, 'send')

  const addFrames = (frames: readonly (readonly [string, TSchema])[]) => {
    for (const [name, payload] of frames)
      messages[name] = toMessage(components, { name, summary: `The frame \`${name}\``, payload })
    return frames.map(([name]) => ref(`channels/live/messages/${name}`))
  }
  const [clientFrames, serverFrames] = [
    addFrames(Object.entries(CLIENT_FRAMES)),
    addFrames([...Object.entries(SERVER_FRAMES), ...EVENT_FRAMES]),
  ]
  channels['live'] = liveChannel([...clientFrames, ...serverFrames])
  const channel = ref('channels/live')
  operations['ask_live'] = {
    action: 'receive',
    channel,
    summary: 'Frames of a client',
    messages: clientFrames,
  }
  operations['tell_live'] = {
    action: 'send',
    channel,
    summary: 'Frames of the service',
    messages: serverFrames,
  }
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Fleet: MQTT and /ws',
      version,
      description: DESCRIPTION,
      license: { name: 'Apache-2.0' },
    },
    defaultContentType: 'application/json',
    servers: SERVERS,
    channels,
    operations,
    components: { schemas: components.sorted(), messages, securitySchemes: SECURITY },
  }
}

const ref = (path: string): Ref => ({ $ref: `#/${path}` })

const PARAMETERS: Readonly<Record<string, string>> = {
  device_id: 'The device’s own id',
  name: 'The beginning of each metric’s name',
}

function topicChannel({ suffix, name, summary }: DeviceMessage): AsyncChannel {
  const address = `${TOPIC_ROOT}/{device_id}/${suffix}`
  const names = Array.from(address.matchAll(/\{(\w+)\}/g), ([, found = '']) => found)
  return {
    address,
    summary,
    servers: [ref('servers/mqtt'), ref('servers/mqtts')],
    parameters: Object.fromEntries(names.map((found) => [found, { description: PARAMETERS[found] ?? '' }])),
    messages: { [name]: ref(`components/messages/${name}`) },
  }
}

function liveChannel(all: readonly Ref[]): AsyncChannel {
  const names = all.map(({ $ref }) => $ref.slice($ref.lastIndexOf('/') + 1))
  return {
    address: SOCKET_PATHS[0],
    summary: 'Live events of the fleet',
    servers: [ref('servers/live')],
    messages: Object.fromEntries(names.map((name) => [name, ref(`components/messages/${name}`)])),
  }
}

function toMessage(
  components: Components,
  { name, summary, payload }: Pick<AsyncMessage, 'name' | 'summary'> & { readonly payload: TSchema },
): AsyncMessage {
  return {
    name,
    summary,
    payload: components.reference(payload),
    examples: [{ payload: exampleOf(payload) }],
  }
}
