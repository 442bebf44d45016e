// Every refusal of the service: its stable code, HTTP status and title, and what to do about it. REST, MQTT and /ws share
// this catalogue, which is served at /problems.

export const REFUSALS = {
  BAD_REQUEST: {
    status: 400,
    title: 'The request cannot be read',
    advice:
      'Send well-formed JSON in UTF-8, without keys such as `__proto__`. Copy a cursor from `next_cursor` unchanged. `detail` says what could not be read.',
  },
  UNAUTHENTICATED: {
    status: 401,
    title: 'No valid access token',
    advice:
      'Send `Authorization: Bearer <access_token>` with a token from `POST /api/v1/auth/login`. A token stops being valid when its user is disabled, is logged out everywhere, or gets another password or role.',
  },
  TOKEN_EXPIRED: {
    status: 401,
    title: 'The access token has expired',
    advice:
      'Get a new one with `POST /api/v1/auth/refresh`. If the refresh token has expired too, log in again.',
  },
  INVALID_CREDENTIALS: {
    status: 401,
    title: 'E-mail or password is wrong',
    advice:
      'Check the e-mail address and the password. The answer is the same whether or not a user with that address exists.',
  },
  FORBIDDEN: {
    status: 403,
    title: 'Your role does not allow this',
    advice: 'Ask an admin for the role that `detail` names, or let somebody with that role do it.',
  },
  PROVISIONING_KEY_INVALID: {
    status: 401,
    title: 'There is no such provisioning key',
    advice:
      'Give the device a key that has not been deleted, exactly as `POST /api/v1/auth/provisioning-keys` returned it. No other answer shows it.',
  },
  PROVISIONING_KEY_EXPIRED: {
    status: 403,
    title: 'The provisioning key has expired',
    advice: 'Ask an admin to create another provisioning key. Devices that it registered keep their tokens.',
  },
  PROVISIONING_KEY_USED_UP: {
    status: 403,
    title: 'The provisioning key has registered as many devices as it may',
    advice:
      'Ask an admin to create another provisioning key, or to reject devices that wait for approval and are not yours, which frees their places.',
  },
  PROVISIONING_ID_NOT_ALLOWED: {
    status: 403,
    title: 'The provisioning key is not for this device id',
    advice: 'Use a device id that matches `id_pattern` of the key, or a key without a pattern.',
  },
  PROVISIONING_PENDING: {
    status: 409,
    title: 'The device waits for approval',
    advice:
      'An admin approves it with `POST /api/v1/auth/provisioning-keys/{provisioning_key_id}/devices/{waiting_id}/approve`. The device asks again, after `Retry-After` seconds at the earliest.',
  },
  URL_INVALID: {
    status: 403,
    title: 'The download URL is not one of this service',
    advice: 'Use the URL of the `ota` message unchanged.',
  },
  URL_EXPIRED: {
    status: 403,
    title: 'The download URL has expired',
    advice:
      'Publish `{"status":"refresh"}` on `ota/status`. The service then sends the `ota` message again, with a new URL.',
  },
  REGISTRATION_LOCKED: {
    status: 403,
    title: 'Registration needs an admin',
    advice: 'Ask an admin to register the user, or send the request with the access token of an admin.',
  },
  MISDIRECTED_REQUEST: {
    status: 421,
    title: 'The service is not known under this host name',
    advice:
      'Use a host name or address of the machine, or ask the operator to set `FLEET_PUBLIC_URL` to the address that you use. This check keeps other people’s web pages from reaching the service through your browser.',
  },
  NOT_FOUND: {
    status: 404,
    title: 'There is no such resource',
    advice: 'Check the path and the id. Devices outside your groups are treated as if they did not exist.',
  },
  METHOD_NOT_ALLOWED: {
    status: 405,
    title: 'This method is not allowed here',
    advice: 'Use one of the methods that the header `Allow` lists.',
  },
  UPGRADE_REQUIRED: {
    status: 426,
    title: 'This address is for WebSockets only',
    advice:
      'Connect with a WebSocket client. If you do, a proxy in between drops the headers `Upgrade` and `Connection`: let it pass them on.',
  },
  ALREADY_EXISTS: {
    status: 409,
    title: 'The resource already exists',
    advice: 'Choose another id or e-mail, or use the existing resource.',
  },
  INVALID_STATE_TRANSITION: {
    status: 409,
    title: 'This change of status is not possible',
    advice: 'Read the resource again. `allowed` lists the changes that are possible now.',
  },
  HAS_SUB_DEVICES: {
    status: 409,
    title: 'The gateway has sub-devices',
    advice: 'Purge its `sub_devices` first: `GET /devices?parent_id=` lists them.',
  },
  FIRMWARE_IN_USE: {
    status: 409,
    title: 'The firmware is in use',
    advice:
      'Wait until the `deployments` are final, or cancel them. With `?force=true`, yanking aborts them, and deleting removes the firmware although devices then cannot roll back to it.',
  },
  FIRMWARE_YANKED: {
    status: 409,
    title: 'The firmware was withdrawn',
    advice:
      'Choose another version. A yanked firmware is never sent again, devices do not install it, and its download is answered with 410.',
  },
  FIRMWARE_DEPRECATED: {
    status: 409,
    title: 'The firmware is deprecated',
    advice: 'Deploy another version, or set `force` to deploy this one anyway.',
  },
  AMBIGUOUS_FIRMWARE: {
    status: 422,
    title: 'Several device types have this version',
    advice: 'Send one of `device_types` as `device_type`, or send the `firmware_id`.',
  },
  NO_PREVIOUS_FIRMWARE: {
    status: 409,
    title: 'There is no firmware to roll back to',
    advice:
      'No other version of this device is known, or its image has been deleted. Deploy a version instead.',
  },
  LAST_ADMIN: {
    status: 409,
    title: 'The last admin must remain an admin',
    advice: 'Make another user an admin first, or enable an admin who is disabled.',
  },
  LIMIT_REACHED: {
    status: 409,
    title: 'The limit for this resource is reached',
    advice: 'Delete resources of this kind that are no longer used. `limit` is the largest number allowed.',
  },
  CHANNEL_IN_USE: {
    status: 409,
    title: 'Rules send their alerts to this channel',
    advice:
      'Change the rules in `rules` and the policies in `policies` to another channel first, or delete the channel with `?force=true`.',
  },
  SMTP_NOT_CONFIGURED: {
    status: 409,
    title: 'The service has no mail server',
    advice:
      'Ask the operator to set `FLEET_SMTP_URL` and `FLEET_SMTP_FROM`, or use a channel of another type.',
  },
  DEVICE_DECOMMISSIONED: {
    status: 409,
    title: 'The device is decommissioned',
    advice: 'A decommissioned device cannot be used again. Register a new one with another id.',
  },
  RULE_OF_TYPE: {
    status: 409,
    title: 'The rule belongs to a device type',
    advice:
      'The service makes this rule from the file of device types. Only the fields that `allowed` lists can be changed here; change the others in the file.',
  },
  IDEMPOTENCY_KEY_REUSED: {
    status: 409,
    title: 'The idempotency key belongs to another request',
    advice:
      'Use a new `Idempotency-Key` for every new request. Send an earlier key only to repeat its request unchanged.',
  },
  IDEMPOTENCY_KEY_IN_USE: {
    status: 409,
    title: 'The first request with this idempotency key is not answered yet',
    advice:
      'The first request with this key is still being answered. Repeat yours after `Retry-After` seconds to get its answer.',
  },
  DEVICE_SHADOW_CONFLICT: {
    status: 409,
    title: 'Shadow version conflict',
    advice:
      'Somebody else changed the shadow first. Read it again, or take `delta` and the version `expected` from the problem, and send your change with that version.',
  },
  SHADOW_VERSION_GONE: {
    status: 410,
    title: 'This version of the shadow is no longer kept',
    advice:
      'Choose a later version: `GET /api/v1/shadows/{device_id}/history` lists those that are kept, newest first. If you know what an older version contained, write it again with `PUT …/desired?mode=replace`.',
  },
  DOWNLOAD_WITHDRAWN: {
    status: 410,
    title: 'The update was cancelled',
    advice:
      'Do not install it. If there is another update for the device, the service sends another `ota` message.',
  },
  CURSOR_EXPIRED: {
    status: 410,
    title: 'The cursor is too old',
    advice:
      'Ask again without `since` to get everything. A cursor is valid only at the node that issued it, for the same question and the same groups, and until too much has changed.',
  },
  REQUEST_TIMEOUT: {
    status: 408,
    title: 'The request did not arrive in time',
    advice: 'Send the whole request at once, and check the connection.',
  },
  PRECONDITION_FAILED: {
    status: 412,
    title: 'The resource has changed in the meantime',
    advice:
      'It changed since you read it. Read it again, and send your change with the new `ETag` in `If-Match`.',
  },
  PAYLOAD_TOO_LARGE: {
    status: 413,
    title: 'The body is too large',
    advice: 'Send less. `limit` is the number of bytes allowed, `actual` the number that was sent.',
  },
  RANGE_NOT_SATISFIABLE: {
    status: 416,
    title: 'The range lies beyond the end',
    advice: 'Ask for bytes within the file: `Content-Range` has its size.',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    title: 'This content type is not accepted',
    advice:
      'Send the body with a `Content-Type` that the operation accepts; the API documentation lists them.',
  },
  WEBHOOK_TARGET_FORBIDDEN: {
    status: 422,
    title: 'This address is not public',
    advice:
      'Use an address that is reachable from the public internet, or ask the operator to list it in `FLEET_WEBHOOK_ALLOW`. This check keeps channels from reaching services that only this machine and its network may reach.',
  },
  NOT_TESTABLE: {
    status: 422,
    title: 'This rule cannot be tried out',
    advice:
      'A trial reads stored points and the timeline. `detail` names the kinds of conditions that depend on something else and can only be judged live.',
  },
  UNKNOWN_PLACEHOLDER: {
    status: 422,
    title: 'The template has an unknown placeholder',
    advice: 'Use only the placeholders that the API documentation lists. `placeholder` is the unknown one.',
  },
  VALIDATION_FAILED: {
    status: 422,
    title: 'The request is not valid',
    advice:
      'Correct what `errors` lists. Each entry has the JSON pointer to a field and says what the field must be.',
  },
  UNKNOWN_FIELD: {
    status: 422,
    title: 'The body has an unknown field',
    advice:
      'Correct or leave out the fields that `errors` lists. Each entry has the JSON pointer to a field, and the name that was probably meant. Put fields of your own into `metadata`.',
  },
  IMMUTABLE_FIELD: {
    status: 422,
    title: 'This field cannot be changed',
    advice: 'Leave out the fields that `errors` lists. They are set once and never change.',
  },
  CHECKSUM_MISMATCH: {
    status: 422,
    title: 'The image has another checksum',
    advice:
      'The bytes changed on the way, or `sha256` belongs to another file. Nothing was stored: upload the image again.',
  },
  SIGNATURE_REQUIRED: {
    status: 422,
    title: 'The image needs a signature',
    advice: 'Send `signature` and `signature_alg`, made with a key that the operator of the service trusts.',
  },
  SIGNATURE_INVALID: {
    status: 422,
    title: 'The signature does not fit the image',
    advice: 'Sign this very image with a trusted key and the algorithm that `signature_alg` names.',
  },
  UNKNOWN_COMMAND: {
    status: 422,
    title: 'The device has no such command',
    advice: 'Send a command that the device’s type defines; `GET /api/v1/device-types` lists them.',
  },
  EMPTY_TARGET: {
    status: 422,
    title: 'There is no device to send this to',
    advice:
      'Check the group, or whatever else selects the devices. Either none of the selected devices accepts this, or you may see none of them.',
  },
  TARGET_CHANGED: {
    status: 409,
    title: 'The number of selected devices has changed',
    advice:
      'Nothing was sent. Repeat the request with `?dry_run=true`, look at what has changed, and send the new `total` as `expected_total`.',
  },
  LETTER_NOT_REPLAYABLE: {
    status: 409,
    title: 'The message cannot be replayed',
    advice:
      'Only the first bytes of a long message are stored, and a message that could not be read has no topic. Discard it, and let the device send it again.',
  },
  COMMAND_QUEUE_FULL: {
    status: 429,
    title: 'Too many commands wait for the device',
    advice: 'Wait until some of the device’s commands have ended, or cancel some.',
  },
  RATE_LIMIT_EXCEEDED: {
    status: 429,
    title: 'Too many requests',
    advice:
      'Wait for `Retry-After` seconds. Spread your requests, or follow the fleet on `/ws` instead of polling. An operator of the service can raise the limits.',
  },
  HEADERS_TOO_LARGE: {
    status: 431,
    title: 'The request headers are too large',
    advice: 'Send fewer or shorter headers. At most 16 KiB are accepted.',
  },
  INTERNAL: {
    status: 500,
    title: 'The service failed because of a bug',
    advice:
      'Give the `request_id` to the operator of the service, who can find the cause in the service’s log.',
  },
  STORAGE_FULL: {
    status: 507,
    title: 'There is no room for the image',
    advice:
      'Delete firmware that is no longer used, or ask the operator to add storage. `limit` and `used` are in bytes.',
  },
  DEPENDENCY_UNAVAILABLE: {
    status: 503,
    title: 'A part of the service is not available',
    advice:
      'Try again after `Retry-After` seconds. It is unknown whether the request was carried out. `GET /readyz?verbose` shows which part is not available.',
  },
} as const satisfies Readonly<
  Record<string, { readonly status: number; readonly title: string; readonly advice: string }>
>

/** Conditions that devices may encounter on MQTT, where no HTTP status exists. The audit records their code and reason. */
export const CONDITIONS = {
  MQTT_CONNECTION_REFUSED: {
    title: 'A device was refused at CONNECT',
    advice:
      'Read `GET /api/v1/audit?action=mqtt.connect`, which has the reason for each refusal. The client id must be the id of a registered device, and the password its token; `POST /api/v1/auth/devices/token` issues a new one.',
  },
  CERTIFICATE_EXPIRED: {
    title: 'A device was refused because its certificate has expired',
    advice:
      'Issue a new certificate with the device’s id as its common name, and put it on the device. `fleet certs issue` does so with a CA of `fleet certs init`.',
  },
  PUBLISH_DENIED: {
    title: 'A device published to a topic that it may not use',
    advice:
      'A device may publish only below `fleet/<its id>/`, and only if its token has the scope `publish`.',
  },
  SUBSCRIBE_DENIED: {
    title: 'A device subscribed to a topic that it may not read',
    advice:
      'A device may subscribe only below `fleet/<its id>/`, and only if its token has the scope `subscribe`.',
  },
} as const satisfies Readonly<Record<string, { readonly title: string; readonly advice: string }>>

export type ConditionCode = keyof typeof CONDITIONS
export const CONDITION_CODES = Object.keys(CONDITIONS) as readonly ConditionCode[]

export type RefusalCode = keyof typeof REFUSALS

/** A request that is not allowed, as a value. Its code determines status and advice. */
export interface Refusal<Code extends RefusalCode = RefusalCode> {
  readonly kind: 'refused'
  readonly code: Code
  /** Mostly has `message`, and more fields that depend on the code. */
  readonly detail: Readonly<Record<string, unknown>>
}

export function refused(code: RefusalCode, detail: Refusal['detail'] = {}): Refusal {
  return { kind: 'refused', code, detail }
}
export const REFUSAL_CODES = Object.keys(REFUSALS) as readonly RefusalCode[]

/** The address that a problem's `type` points to. */
export const problemPath = (code: RefusalCode | ConditionCode): string =>
  `/problems/${code.toLowerCase().replaceAll('_', '-')}`
