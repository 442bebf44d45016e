// A backup of users, API keys and provisioning keys, which the log could not restore after a loss of the store. The file
// holds hashes of passwords and keys, so only its owner can read it. It contains no logins.

import { randomUUID } from 'node:crypto'
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import { type Static, Type } from 'typebox'
import type { Clock } from '../../engine/ports/clock.ts'
import type { AllUsers, Users } from '../../engine/ports/users.ts'
import { errorText } from '../../schemas/error-text.ts'
import { ROLES } from '../../schemas/vocabulary.ts'

/** Changes whenever the meaning of the file's content changes. */
const FORMAT = 'fleet-users-1'

const Role = Type.Unsafe<(typeof ROLES)[number]>({ type: 'string', enum: [...ROLES] })
const Text = Type.String({ minLength: 1 })
const Timestamp = Type.Number({ minimum: 0 })
const ACCOUNT_FIELDS = {
  id: Text,
  name: Type.String(),
  role: Role,
  groups: Type.Array(Type.String()),
  createdAt: Timestamp,
}
const UsersFile = Type.Object({
  format: Type.Literal(FORMAT),
  madeAt: Text,
  users: Type.Array(
    Type.Object({
      ...ACCOUNT_FIELDS,
      email: Text,
      passwordHash: Text,
      disabled: Type.Boolean(),
      lastLoginAt: Type.Optional(Timestamp),
      tokensValidFrom: Timestamp,
    }),
  ),
  keys: Type.Array(
    Type.Object({
      ...ACCOUNT_FIELDS,
      secretHash: Text,
      createdBy: Text,
      expiresAt: Type.Optional(Timestamp),
      lastUsedAt: Type.Optional(Timestamp),
    }),
  ),
  /** Missing in files of former releases. */
  provisioningKeys: Type.Optional(
    Type.Array(
      Type.Object({
        ...{ id: Text, name: Type.String(), secretHash: Text, deviceType: Text, createdBy: Text },
        ...{ group: Type.Optional(Type.String()), idPattern: Type.Optional(Text) },
        ...{
          needsApproval: Type.Boolean(),
          devicesMax: Timestamp,
          taken: Timestamp,
          createdAt: Timestamp,
          expiresAt: Timestamp,
        },
        claims: Type.Array(
          Type.Object({
            ...{ deviceId: Text, ip: Type.String(), at: Timestamp },
            status: Type.Union([Type.Literal('pending'), Type.Literal('approved')]),
          }),
        ),
      }),
    ),
  ),
})
type UsersFile = Static<typeof UsersFile>

/** The outcome, with one line for the operator. */
export type MaintenanceResult = { readonly kind: 'done' | 'wrong'; readonly line: string }

/** A `path` of `-` is standard output. */
export function backupUsers(users: Users, path: string, clock: Clock): MaintenanceResult {
  const all = allOf(users)
  const text = `${JSON.stringify({ format: FORMAT, madeAt: new Date(clock.now()).toISOString(), ...all }, null, 1)}\n`
  try {
    if (path === '-') process.stdout.write(text)
    else {
      // The file is replaced atomically: readers see either the old or the new one. The temporary name is random, so nobody
      // can have placed a file or link there in advance.
      const unfinished = `${path}.${randomUUID()}.new`
      try {
        writeFileSync(unfinished, text, { mode: 0o600, flush: true, flag: 'wx' })
        renameSync(unfinished, path)
      } finally {
        // If the file cannot be moved into place, no hashes of passwords are left behind.
        rmSync(unfinished, { force: true })
      }
    }
  } catch (error) {
    return { kind: 'wrong', line: `${path} cannot be written: ${errorText(error)}` }
  }
  return { kind: 'done', line: `wrote ${countsOf(all)} to ${path === '-' ? 'standard output' : path}` }
}

export async function restoreUsers(
  users: Users,
  path: string,
  { clock, isOverwrite }: { readonly clock: Clock; readonly isOverwrite: boolean },
): Promise<MaintenanceResult> {
  const read = readUsersFile(path)
  if (typeof read === 'string') return { kind: 'wrong', line: `${path} ${read}` }
  if (!read.users.some(({ role, disabled }) => role === 'admin' && !disabled))
    return { kind: 'wrong', line: `${path} has no enabled admin, so nobody could manage the users` }
  // Tokens from before the restore become void: users may have been locked since the backup.
  const tokensValidFrom = clock.now()
  const all: AllUsers = {
    // The schema has checked all fields. Only the brands of ids and times are missing.
    users: read.users.map((user) => ({ ...user, tokensValidFrom })) as unknown as AllUsers['users'],
    keys: read.keys as unknown as AllUsers['keys'],
    provisioningKeys: read.provisioningKeys as unknown as AllUsers['provisioningKeys'],
  }
  const replaced = await users.replaceAll(all, { onlyIfNone: !isOverwrite })
  if (replaced === 'replaced')
    return {
      kind: 'done',
      line: `restored ${countsOf(all)} from a backup of ${read.madeAt}; everybody has to log in again`,
    }
  const existing = countsOf(allOf(users))
  return {
    kind: 'wrong',
    line:
      replaced === 'full'
        ? `${path} has more users or keys than the service allows`
        : `the service already has ${existing}; pass --overwrite to replace all of them with those of ${path}`,
  }
}

function readUsersFile(path: string): UsersFile | string {
  let value: unknown
  try {
    value = JSON.parse(readFileSync(path === '-' ? 0 : path, 'utf8'))
  } catch (error) {
    return `cannot be read: ${errorText(error)}`
  }
  const ajv = new Ajv({ strict: false })
  const validate = ajv.compile<UsersFile>(UsersFile)
  if (validate(value)) return value
  return `is not a backup of users: ${ajv.errorsText(validate.errors, { dataVar: 'file' })}`
}

function allOf(users: Users): AllUsers {
  return {
    ...{ users: users.list(), keys: users.listKeys() },
    provisioningKeys: users.listProvisioningKeys(),
  }
}

function countsOf({ users, keys, provisioningKeys = [] }: AllUsers): string {
  return `${users.length} users, ${keys.length} API keys and ${provisioningKeys.length} provisioning keys`
}
