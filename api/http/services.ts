// What the routes are made of: everything arrives here from the composition root.
import type { Engine } from '../../engine/index.ts'
import type { Clock } from '../../engine/ports/clock.ts'
import type { Accounts } from '../auth/accounts.ts'
import type { Authenticate } from '../auth/authenticate.ts'
import type { Tokens } from '../auth/tokens.ts'
import type { Ids } from '../ids.ts'

export interface Services {
  readonly engine: Engine
  readonly accounts: Accounts
  readonly authenticate: Authenticate
  readonly tokens: Tokens
  readonly ids: Ids
  readonly clock: Clock
  readonly heartbeatTimeoutMs: number
  /** The types a device may have: the built-in ones and those of the type file. */
  readonly deviceTypes: ReadonlySet<string>
}
