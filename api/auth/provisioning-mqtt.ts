// Provisioning over MQTT: a device connects with a provisioning key as its password and its own id as the client id. It
// sends its request on `provision/get`, and gets the answer on `provision/accepted` or `provision/rejected`.

import { Buffer, isUtf8 } from 'node:buffer'
import { type Admission, CONNACK } from '../../engine/ports/broker.ts'
import { Fault } from '../../engine/ports/fault.ts'
import { LINE_PATTERN } from '../../schemas/auth.ts'
import { BODY_LIMITS } from '../../schemas/body-limits.ts'
import type { DeviceId } from '../../schemas/ids.ts'
import { isObject, parseJson } from '../../schemas/json.ts'
import { REFUSALS } from '../../schemas/refusals.ts'
import { PROVISION_ACCEPTED_SUFFIX, PROVISION_REJECTED_SUFFIX } from '../../schemas/topics.ts'
import { API_LIMITS } from '../limits.ts'
import { type Refusal, refused } from '../refusal.ts'
import { provisionedBody } from './provisioned-body.ts'
import type { Provisioning } from './provisioning.ts'

export interface MqttProvisioning {
  readonly provisioning: Provisioning
  readonly mqttUrl: () => string
}

interface Answer {
  readonly suffix: string
  readonly payload: Uint8Array
}

/** Admits a device that presents a provisioning key. Only the key is checked here, and no place is taken. */
export async function admitWithKey(
  { provisioning, mqttUrl }: MqttProvisioning,
  { key, deviceId, ip }: { readonly key: string; readonly deviceId: DeviceId; readonly ip: string },
): Promise<Admission> {
  const checked = await provisioning.check({ key, deviceId, ip })
  if ('kind' in checked) {
    const { title } = REFUSALS[checked.code]
    return { kind: 'denied', code: CONNACK.unauthorized, reason: `${checked.code}: ${title}` }
  }
  return {
    kind: 'provisioning',
    deviceId,
    async ask(payload) {
      const message = parseMessage(payload)
      if (message.kind === 'refused') return rejected(message, undefined)
      const { name, clientToken } = message
      try {
        const result = await provisioning.provision({ key, deviceId, ip, name })
        if (result.kind === 'refused') return rejected(result, clientToken)
        return answer(PROVISION_ACCEPTED_SUFFIX, provisionedBody(result, mqttUrl()), clientToken)
      } catch (error) {
        if (!(error instanceof Fault)) throw error
        const again = { retry_after_sec: API_LIMITS.retryAfterSec }
        return rejected(refused('DEPENDENCY_UNAVAILABLE', again), clientToken)
      }
    },
  }
}

type ProvisionMessage = {
  readonly kind: 'message'
  readonly name: string | undefined
  readonly clientToken: string | undefined
}

/** Reads an empty message, or an object with `name` and `client_token`. */
function parseMessage(payload: Uint8Array): ProvisionMessage | Refusal {
  const json = payload.length === 0 ? {} : parseObject(payload)
  if (json === undefined)
    return refused('BAD_REQUEST', { message: 'a request is empty or a JSON object in UTF-8' })
  const { name, client_token: clientToken } = json
  const isName = name === undefined || (typeof name === 'string' && isFit(name, BODY_LIMITS.nameCharsMax))
  if (!isName) return refused('VALIDATION_FAILED', { message: 'name must be a line of text' })
  const charsMax = BODY_LIMITS.clientTokenCharsMax
  if (clientToken !== undefined && (typeof clientToken !== 'string' || clientToken.length > charsMax))
    return refused('VALIDATION_FAILED', {
      message: `client_token must be text of at most ${charsMax} characters`,
    })
  return { kind: 'message', name, clientToken }
}

const LINE = new RegExp(LINE_PATTERN)
const isFit = (text: string, charsMax: number) => text.length <= charsMax && LINE.test(text)

function parseObject(payload: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  if (!isUtf8(payload)) return undefined
  const json = parseJson(Buffer.from(payload).toString('utf8'))
  return isObject(json) ? Object.assign(Object.create(null), json) : undefined
}

function rejected({ code, detail }: Refusal, clientToken: string | undefined): Answer {
  const { status, title, advice } = REFUSALS[code]
  const { message = title, retry_after_sec } = detail
  const more = retry_after_sec === undefined ? {} : { retry_after_sec }
  return answer(PROVISION_REJECTED_SUFFIX, { code, status, detail: message, advice, ...more }, clientToken)
}

function answer(suffix: string, body: object, clientToken: string | undefined): Answer {
  const fields = clientToken === undefined ? body : { ...body, client_token: clientToken }
  return { suffix, payload: Buffer.from(JSON.stringify(fields)) }
}
