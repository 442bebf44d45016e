// Tells the author of a device what to do about an unusable message, by the reason of its dead letter.

const ADVICE = {
  UNKNOWN_TOPIC: 'publish on one of the topics in the guide for devices; nothing takes messages here',
  FORBIDDEN_TOPIC:
    'publish below fleet/{device_id}/ with the id of this device, and not on topics of the service',
  SHARD_CRASH: 'the service crashed while processing this message; replay it after an update of the service',
  TELEMETRY_REFUSED:
    'the database does not accept these values; the operator may replay the message once it does',
  UNKNOWN_COMMAND: 'answer with the request_id of the command, once, while it is open',
  MALFORMED_ACK: 'an answer has request_id, and status is one of the words in the guide for devices',
  MALFORMED_REPORT: 'a report is a JSON object, or an object with state, version and client_token',
  MALFORMED_STATUS: 'status is online or offline',
  MALFORMED_OTA_STATUS: 'a report has deployment_id, and status is one of the words in the guide for devices',
  MALFORMED_TOKEN_REQUEST: 'send an empty payload, or an object with ttl_sec and client_token',
  UNKNOWN_DEVICE: 'register the sub-device with the gateway as its parent_id',
  NOT_ITS_GATEWAY: 'register the sub-device with the gateway as its parent_id',
  NOT_A_GATEWAY: 'only a device of type gateway publishes below sub/{device_id}/',
  BAD_TOPIC: 'a topic of a sub-device is sub/{device_id}/{topic}',
  empty: 'send a JSON object',
  not_utf8: 'send JSON in UTF-8',
  not_json: 'send JSON in UTF-8; test the payload with a JSON parser',
  not_object: 'send a JSON object, or an array of objects',
  too_deep: 'nest values less deeply; the detail names the bound',
  too_many_fields: 'send fewer fields; the detail names the bound',
  too_many_reports: 'send fewer reports in one message; the detail names the bound',
  too_many_entries: 'send fewer log lines in one message; the detail names the bound',
  bad_name: 'the detail names the field; a name is text that is not empty and not too long',
  bad_number: 'the detail names the field; leave out a number that is not finite',
  bad_timestamp: 'send ISO 8601, or milliseconds since 1970',
  bad_level: 'level is debug, info, warn, error or fatal',
  bad_message: 'a log line has a message, and message and logger are text',
  text_too_long: 'send shorter text; the detail names the bound',
} as const satisfies Readonly<Record<string, string>>

const OTHERWISE = 'the service could not process the message; tell its operator'

export function adviceOn(reason: string): string {
  return Object.hasOwn(ADVICE, reason) ? ADVICE[reason as keyof typeof ADVICE] : OTHERWISE
}
