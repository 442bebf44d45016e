// The collaborators of all routes, made by the composition root.

import type { KeyObject } from 'node:crypto'
import type { HeartbeatTimeouts } from '../../engine/domain/device/heartbeat.ts'
import type { DeviceTypes } from '../../engine/domain/device-type/definition.ts'
import type { Engine } from '../../engine/index.ts'
import type { Blobs } from '../../engine/ports/blobs.ts'
import type { Clock } from '../../engine/ports/clock.ts'
import type { Repairs } from '../../engine/ports/repair.ts'
import type { Schedule } from '../../engine/ports/schedule.ts'
import type { Users } from '../../engine/ports/users.ts'
import type { Accounts } from '../auth/accounts.ts'
import type { ApiKeys } from '../auth/api-keys.ts'
import type { Authenticate } from '../auth/authenticate.ts'
import type { Provisioning } from '../auth/provisioning.ts'
import type { ProvisioningKeys } from '../auth/provisioning-keys.ts'
import type { Tickets } from '../auth/tickets.ts'
import type { Tokens } from '../auth/tokens.ts'
import type { Ids } from '../ids.ts'
import type { WorkBudget } from '../rates/work-budget.ts'
import type { Repeats } from './repeats.ts'

/** The device types of this service. */
export interface KnownTypes {
  readonly names: readonly string[]
  /** Types defined in the device-type file. Commands and desired state of other types are not checked. */
  readonly defined: DeviceTypes
}

export interface Services extends HeartbeatTimeouts {
  readonly engine: Engine
  readonly users: Users
  /** Undefined if no image store is configured. */
  readonly blobs: Blobs | undefined
  readonly repairs: Repairs
  readonly accounts: Accounts
  readonly apiKeys: ApiKeys
  readonly provisioningKeys: ProvisioningKeys
  readonly provisioning: Provisioning
  readonly authenticate: Authenticate
  readonly tokens: Tokens
  readonly tickets: Tickets
  readonly loginTickets: Tickets
  readonly downloadTickets: Tickets
  readonly ids: Ids
  readonly repeats: Repeats
  readonly clock: Clock
  readonly schedule: Pick<Schedule, 'sleep'>
  readonly work: WorkBudget
  /** Base of all links that the service sends, without a trailing slash. */
  readonly publicUrl: () => string
  readonly deviceTypes: KnownTypes
  readonly ota: OtaOptions
}

export interface OtaOptions {
  readonly uploadBytesMax: number
  /** An upload that sends nothing for this long is aborted. */
  readonly uploadSilenceMs: number
  /** Every upload must be signed with one of these keys. If empty, no signature is needed. */
  readonly trustedKeys: readonly KeyObject[]
  /** Public keys that verify manifests, as JWKs. */
  readonly jwks: readonly object[]
}
