// Reason codes of MQTT 5, with the sentence that goes with each. Pure.
import { CONNACK, type ConnackCode, type EndCause } from '../../../ports/broker.ts'

export const REASON = {
  success: 0x00,
  /** A device's DISCONNECT: goodbye, and publish the will all the same. */
  leaveWithWill: 0x04,
  noSubscription: 0x11,
  malformed: 0x81,
  protocolError: 0x82,
  refusedVersion: 0x84,
  clientId: 0x85,
  credentials: 0x86,
  notAuthorized: 0x87,
  unavailable: 0x88,
  shuttingDown: 0x8b,
  authenticationMethod: 0x8c,
  keepAlive: 0x8d,
  takenOver: 0x8e,
  badFilter: 0x8f,
  badTopic: 0x90,
  unknownId: 0x92,
  receiveMax: 0x93,
  badAlias: 0x94,
  tooLarge: 0x95,
  quota: 0x97,
  revoked: 0x98,
  badFormat: 0x99,
  sharedSubscription: 0x9e,
  expired: 0xa0,
  subscriptionId: 0xa1,
} as const
export type Reason = (typeof REASON)[keyof typeof REASON]

/** A reason with its sentence, for the reason string. */
export interface ExplainedReason {
  readonly reason: Reason
  readonly text: string
}

/** Reason codes from here on mean failure. */
export const FAILURE = 0x80

const TEXTS: Partial<Readonly<Record<Reason, string>>> = {
  [REASON.malformed]: 'the packet cannot be read',
  [REASON.protocolError]: 'the packet breaks a rule of MQTT',
  [REASON.notAuthorized]: 'a device publishes and subscribes below fleet/{device_id}/ only',
  [REASON.badFilter]: 'the topic filter is too long, or has a wildcard where none may be',
  [REASON.badTopic]: 'the topic name has a wildcard, or is too long',
  [REASON.receiveMax]: 'more messages of QoS 2 are open than CONNACK allowed',
  [REASON.badAlias]: 'the topic alias is above what CONNACK allowed, or was not set before',
  [REASON.tooLarge]: 'the packet is larger than CONNACK allowed, or has too many properties',
  [REASON.quota]: 'a device has too many subscriptions',
  [REASON.sharedSubscription]: 'there are no shared subscriptions',
  [REASON.subscriptionId]: 'there are no subscription identifiers',
}

/** A reason with its usual sentence. */
export function explain(reason: Reason): ExplainedReason {
  return { reason, text: TEXTS[reason] ?? '' }
}

const REASON_OF_CONNACK: Readonly<Record<ConnackCode, Reason>> = {
  [CONNACK.accepted]: REASON.success,
  [CONNACK.protocol]: REASON.refusedVersion,
  [CONNACK.identifier]: REASON.clientId,
  [CONNACK.unavailable]: REASON.unavailable,
  [CONNACK.credentials]: REASON.credentials,
  [CONNACK.unauthorized]: REASON.notAuthorized,
}

/** The reason code of MQTT 5 that means the same as a return code of MQTT 3.1.1. */
export function reasonOfConnack(code: ConnackCode): Reason {
  return REASON_OF_CONNACK[code]
}

const REASON_OF_END: Readonly<Record<EndCause, ExplainedReason | undefined>> = {
  // The device is gone, or has just said goodbye: it is told nothing.
  disconnect: undefined,
  lost: undefined,
  keepalive: { reason: REASON.keepAlive, text: 'nothing was heard for one and a half times the keep-alive' },
  takeover: {
    reason: REASON.takenOver,
    text: 'the device connected again with the same client id; one device has one connection',
  },
  expired: { reason: REASON.expired, text: 'the token or certificate of this connection has expired' },
  revoked: {
    reason: REASON.revoked,
    text: 'the credentials were revoked, or the device was decommissioned',
  },
  abuse: { reason: REASON.protocolError, text: 'the packet breaks a rule of MQTT' },
  shutdown: { reason: REASON.shuttingDown, text: 'the service is stopping; connect again in a moment' },
}

/** What the device is told when its session ends. Undefined if there is nobody to tell. */
export function reasonOfEnd(cause: EndCause): ExplainedReason | undefined {
  return REASON_OF_END[cause]
}
