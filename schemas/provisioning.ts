// Bodies of provisioning: keys with which devices register themselves, and the answers to such devices.
import { type Static, Type } from 'typebox'
import { DeviceToken, PersonName } from './auth.ts'
import { BODY_LIMITS } from './body-limits.ts'
import { Group, NewDeviceId, RegisterDeviceBody } from './device.ts'
import { choice, closed, Instant, instantText, object, orNull } from './json-schema.ts'
import { PAGE_QUERY, pageOf } from './page.ts'

export const ProvisioningKeyParams = Type.Object({
  provisioning_key_id: Type.String({ examples: ['prk_01jd0c3k9x7m2v5t8r4q6w1z0y'] }),
})
export const ProvisioningClaimParams = Type.Object({
  provisioning_key_id: Type.String({ examples: ['prk_01jd0c3k9x7m2v5t8r4q6w1z0y'] }),
  /** Not `device_id`, because the device is not registered yet. */
  waiting_id: Type.String({ examples: ['robot-7'] }),
})

const { type: DeviceType } = RegisterDeviceBody.properties
const Limit = Type.Integer({
  minimum: 1,
  maximum: BODY_LIMITS.provisionedDevicesMax,
  description: 'Number of devices that the key registers.',
  examples: [500],
})
/** A glob with the characters of an id, `*` and `?`. Unlike a regular expression, it never takes long to match. */
const IdPattern = Type.String({
  minLength: 1,
  maxLength: BODY_LIMITS.provisioningIdPatternCharsMax,
  pattern: '^[A-Za-z0-9_*?-]+$',
  description:
    'The device ids that the key is for: `*` stands for any characters, `?` for one. Null: any id.',
  examples: ['robot-*'],
})
const Approval = Type.Boolean({
  default: false,
  description: 'Each device waits until an admin approves it.',
})

export const NewProvisioningKeyBody = closed(
  'NewProvisioningKeyBody',
  'The devices get this type and group. Without `ttl_sec` and `expires_at` the key expires after 30 days.',
  {
    name: Type.Optional(PersonName),
    type: DeviceType,
    group: Type.Optional(orNull(Group, { examples: ['warehouse/a'] })),
    limit: Limit,
    id_pattern: Type.Optional(orNull(IdPattern, { examples: ['robot-*'] })),
    approval: Type.Optional(Approval),
    ttl_sec: Type.Optional(
      Type.Integer({
        minimum: BODY_LIMITS.provisioningKeySecMin,
        maximum: BODY_LIMITS.provisioningKeySecMax,
        description: 'Lifetime in seconds, instead of `expires_at`.',
        examples: [86_400],
      }),
    ),
    expires_at: Type.Optional(orNull(instantText('to come', '2030-03-01T18:00:00Z'))),
  },
)

const KEY_FIELDS = {
  id: Type.String({ examples: ['prk_01jd0c3k9x7m2v5t8r4q6w1z0y'] }),
  name: Type.String({ examples: ['Line 3, March'] }),
  type: DeviceType,
  group: orNull(Group, { examples: ['warehouse/a'] }),
  limit: Limit,
  taken: Type.Integer({
    minimum: 0,
    description: 'Places that are taken: devices that were registered, and those that wait.',
    examples: [17],
  }),
  pending: Type.Integer({ minimum: 0, description: 'Devices that wait for approval.', examples: [2] }),
  id_pattern: orNull(IdPattern, { examples: ['robot-*'] }),
  approval: Approval,
  created_at: Instant,
  created_by: Type.String({ examples: ['usr_01jd0c3k9x7m2v5t8r4q6w1z0y'] }),
  expires_at: Instant,
}
export const ProvisioningKeyBody = object('ProvisioningKey', KEY_FIELDS)
export type ProvisioningKeyBody = Static<typeof ProvisioningKeyBody>

export const NewProvisioningKey = object('NewProvisioningKey', {
  ...KEY_FIELDS,
  key: Type.String({
    description: 'What the devices are given. It is shown in this answer only.',
    examples: ['flp_…'],
  }),
})

export const ProvisioningClaimBody = object('ProvisioningClaim', {
  device_id: Type.String({ examples: ['robot-7'] }),
  status: choice(['pending', 'approved'], {
    description:
      '`approved`: the device has a place, is not registered yet, and is registered as soon as it asks again.',
    examples: ['pending'],
  }),
  requested_at: Instant,
  ip: Type.String({ description: 'Where the device asked from.', examples: ['10.0.4.2'] }),
})
export type ProvisioningClaimBody = Static<typeof ProvisioningClaimBody>

export const ProvisioningKeyDetail = object('ProvisioningKeyDetail', {
  ...KEY_FIELDS,
  waiting: Type.Array(ProvisioningClaimBody, {
    description: 'Devices that have a place and are not registered yet, the longest waiting first.',
  }),
})

export const ProvisioningKeyListQuery = closed(PAGE_QUERY)
export const ProvisioningKeyPage = pageOf(ProvisioningKeyBody, 'ProvisioningKeyPage')

export const ProvisionBody = closed('ProvisionBody', 'Without a name the device is named by its id.', {
  key: Type.String({
    minLength: 1,
    maxLength: BODY_LIMITS.provisioningKeyCharsMax,
    description: 'The provisioning key.',
    examples: ['flp_…'],
  }),
  device_id: NewDeviceId,
  name: Type.Optional(RegisterDeviceBody.properties.name),
})

export const ProvisionedDevice = object('ProvisionedDevice', {
  ...DeviceToken.properties,
  type: DeviceType,
  group: orNull(Group, { examples: ['warehouse/a'] }),
  mqtt_endpoint: Type.String({ examples: ['mqtts://fleet.example.com:8883'] }),
})
export type ProvisionedDevice = Static<typeof ProvisionedDevice>
