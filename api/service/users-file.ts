// Users and API keys as a file: what the log does not have, and a lost store would take with it. The file holds hashes
// of passwords and keys, so it is its owner's alone; logins are not in it.
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import { type Static, Type } from 'typebox'
import type { Clock } from '../../engine/ports/clock.ts'
import type { AllUsers, Users } from '../../engine/ports/users.ts'
import { ROLES } from '../../schemas/vocabulary.ts'

/** Grows when what is in the file means something else. */
const FORMAT = 'fleet-users-1'

const Role = Type.Unsafe<(typeof ROLES)[number]>({ type: 'string', enum: [...ROLES] })
const Text = Type.String({ minLength: 1 })
const At = Type.Number({ minimum: 0 })
const Who = { id: Text, name: Type.String(), role: Role, groups: Type.Array(Type.String()), createdAt: At }
const UsersFile = Type.Object({
  format: Type.Literal(FORMAT),
  madeAt: Text,
  users: Type.Array(
    Type.Object({
      ...Who,
      email: Text,
      passwordHash: Text,
      disabled: Type.Boolean(),
      lastLoginAt: Type.Optional(At),
      tokensValidFrom: At,
    }),
  ),
  keys: Type.Array(
    Type.Object({
      ...Who,
      secretHash: Text,
      createdBy: Text,
      expiresAt: Type.Optional(At),
      lastUsedAt: Type.Optional(At),
    }),
  ),
})
type UsersFile = Static<typeof UsersFile>

/** One line for the operator, either way. */
export type Told = { readonly kind: 'done' | 'wrong'; readonly line: string }

/** `-` is standard output. */
export function backupUsers(users: Users, path: string, clock: Clock): Told {
  const all: AllUsers = { users: users.list(), keys: users.listKeys() }
  const text = `${JSON.stringify({ format: FORMAT, madeAt: new Date(clock.now()).toISOString(), ...all }, null, 1)}\n`
  try {
    if (path === '-') process.stdout.write(text)
    else {
      // Whoever reads the file finds all of it, the earlier one or this one.
      writeFileSync(`${path}.new`, text, { mode: 0o600, flush: true })
      renameSync(`${path}.new`, path)
    }
  } catch (error) {
    return { kind: 'wrong', line: `${path} cannot be written: ${messageOf(error)}` }
  }
  return { kind: 'done', line: `${countsOf(all)} are in ${path === '-' ? 'standard output' : path}` }
}

export async function restoreUsers(
  users: Users,
  path: string,
  { clock, isOverwrite }: { readonly clock: Clock; readonly isOverwrite: boolean },
): Promise<Told> {
  const read = readUsersFile(path)
  if (typeof read === 'string') return { kind: 'wrong', line: `${path} ${read}` }
  if (!read.users.some(({ role, disabled }) => role === 'admin' && !disabled))
    return { kind: 'wrong', line: `${path} has no admin who may log in: nobody could manage the others` }
  // What was locked or logged out since the backup must not come back with it.
  const tokensValidFrom = clock.now()
  const all: AllUsers = {
    // Checked, and as a backup wrote them: nothing is left but their brands.
    users: read.users.map((user) => ({ ...user, tokensValidFrom })) as unknown as AllUsers['users'],
    keys: read.keys as unknown as AllUsers['keys'],
  }
  const replaced = await users.replaceAll(all, { onlyIfNone: !isOverwrite })
  if (replaced === 'replaced')
    return {
      kind: 'done',
      line: `${countsOf(all)} are restored, as of ${read.madeAt}; all have to log in anew`,
    }
  const there = countsOf({ users: users.list(), keys: users.listKeys() })
  return {
    kind: 'wrong',
    line:
      replaced === 'full'
        ? `${path} has more users or API keys than there may be`
        : `there are ${there} already: --overwrite replaces all of them by those of ${path}`,
  }
}

function readUsersFile(path: string): UsersFile | string {
  let value: unknown
  try {
    value = JSON.parse(readFileSync(path === '-' ? 0 : path, 'utf8'))
  } catch (error) {
    return `cannot be read: ${messageOf(error)}`
  }
  const ajv = new Ajv({ strict: false })
  const validate = ajv.compile<UsersFile>(UsersFile)
  if (validate(value)) return value
  return `is no backup of users: ${ajv.errorsText(validate.errors, { dataVar: 'file' })}`
}

function countsOf({ users, keys }: AllUsers): string {
  return `${users.length} users and ${keys.length} API keys`
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
