// Client libraries that devices are written with, in version 5.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import mqttJs from 'mqtt'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Millis } from '../../../../schemas/ids.ts'
import { downlink } from '../testing/contract-world.ts'
import { openStage, type Stage } from '../testing/embedded-broker.ts'
import { PASSWORD, until } from '../testing/fake-host.ts'
import { REASON } from './reasons.ts'

const PYTHON = process.env['TEST_SERVER_PYTHON_WITH_PAHO']
const run = promisify(execFile)

let stage: Stage
beforeEach(async () => {
  stage = await openStage()
})
afterEach(() => stage.broker.close())

const request = { suffix: 'command/ack', correlation: 'cmd_1' }
const expiresAt = Millis(1_060_000)

test('MQTT.js speaks version 5, and answers a command as it is told to', async () => {
  const client = await mqttJs.connectAsync({
    port: stage.port,
    host: '127.0.0.1',
    protocolVersion: 5,
    clientId: 'a',
    username: 'a',
    password: PASSWORD,
    reconnectPeriod: 0,
    properties: { sessionExpiryInterval: 60 },
  })
  client.on('message', (_, payload, { properties }) => {
    const { responseTopic = '', correlationData } = properties ?? {}
    client.publish(responseTopic, payload, {
      qos: 1,
      ...(correlationData && { properties: { correlationData } }),
    })
  })
  await client.subscribeAsync('fleet/a/command', { qos: 1 })
  const forbidden = await client.publishAsync('fleet/b/log', 'x', { qos: 1 }).catch((error: unknown) => error)
  expect(forbidden).toMatchObject({ code: REASON.notAuthorized })
  const other = await client.subscribeAsync('fleet/b/#').catch((error: unknown) => error)
  expect(other).toBeInstanceOf(Error)
  expect(await stage.broker.publish(downlink({ request, expiresAt }, 'dock'))).toBe(true)
  await until(() => stage.host.messages().length === 1, 'the answer')
  expect(stage.host.messages()).toMatchObject([{ suffix: 'command/ack', text: 'dock' }])
  await client.endAsync()
  await until(() => stage.host.causes('a').length === 1, 'closed')
  expect(stage.host.causes('a')).toEqual(['disconnect'])
})

test('MQTT.js reads the reason of a refusal', async () => {
  const client = mqttJs.connect({
    port: stage.port,
    host: '127.0.0.1',
    protocolVersion: 5,
    clientId: 'a',
    password: 'wrong',
    username: 'a',
    reconnectPeriod: 0,
  })
  const error = await new Promise<Error>((resolve) => client.once('error', resolve))
  expect(error).toMatchObject({ code: REASON.notAuthorized })
  await client.endAsync(true)
})

const PAHO = `
import sys, threading
import paho.mqtt.client as mqtt
from paho.mqtt.properties import Properties
from paho.mqtt.packettypes import PacketTypes

port = int(sys.argv[1])
seen = {}
done = threading.Event()

def on_connect(client, userdata, flags, reason, properties):
    seen['connack'] = (reason.value, properties.MaximumPacketSize, properties.TopicAliasMaximum)
    client.subscribe([('fleet/a/command', 1), ('fleet/b/command', 1)])

def on_subscribe(client, userdata, mid, reasons, properties):
    seen['suback'] = [reason.value for reason in reasons]
    for alias_of in ('fleet/a/telemetry', ''):
        about = Properties(PacketTypes.PUBLISH)
        about.TopicAlias = 1
        about.UserProperty = ('trace', 'x')
        client.publish(alias_of or 'fleet/a/telemetry', '{"t":1}', 1, properties=about)
    seen['forbidden'] = client.publish('fleet/b/telemetry', 'x', 1).mid

def on_publish(client, userdata, mid, reason, properties):
    if mid == seen.get('forbidden'):
        seen['puback'] = (reason.value, properties.ReasonString)

def on_message(client, userdata, message):
    about = Properties(PacketTypes.PUBLISH)
    about.CorrelationData = message.properties.CorrelationData
    seen['expiry'] = message.properties.MessageExpiryInterval
    client.publish(message.properties.ResponseTopic, message.payload, 2, properties=about)

def on_disconnect(client, userdata, flags, reason, properties):
    seen['disconnect'] = reason.value
    done.set()

client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id='a', protocol=mqtt.MQTTv5)
client.username_pw_set('a', sys.argv[2])
client.on_connect, client.on_subscribe, client.on_publish = on_connect, on_subscribe, on_publish
client.on_message, client.on_disconnect = on_message, on_disconnect
client.connect('127.0.0.1', port, clean_start=True)
client.loop_start()
done.wait(60)
client.loop_stop()
print(seen['connack'], seen['suback'], seen['puback'][0], seen['expiry'], seen['disconnect'])
`

test.skipIf(PYTHON === undefined)('paho for Python speaks version 5', async () => {
  const python = run(PYTHON ?? '', ['-c', PAHO, `${stage.port}`, PASSWORD])
  await until(
    () => stage.host.texts().length === 2 && stage.host.refusals.length === 2,
    'its messages',
    60_000,
  )
  expect(await stage.broker.publish(downlink({ request, expiresAt }, 'dock'))).toBe(true)
  await until(
    () => stage.host.messages().some(({ suffix }) => suffix === 'command/ack'),
    'its answer',
    60_000,
  )
  stage.broker.end(downlink().deviceId)
  const { stdout } = await python
  expect(stdout.trim()).toBe('(0, 266240, 16) [1, 135] 135 60 152')
})
