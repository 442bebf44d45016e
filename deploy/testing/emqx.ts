// Runs the rules and applies the rights of deploy/emqx, for tests that stand in for EMQX.
import { readFileSync } from 'node:fs'
import { type AclRule, parseAcl } from './acl.ts'
import { at, type Hocon, parseHocon } from './hocon.ts'
import { type Columns, isMatch, parseRule, render } from './rule.ts'

/** A message that a rule publishes. */
export interface RuleMessage {
  readonly topic: string
  readonly payload: Buffer
  /** MQTT 5 user properties. */
  readonly up?: Readonly<Record<string, string>> | undefined
}

export type EmqxEventName =
  | 'client_connected'
  | 'client_disconnected'
  | 'session_subscribed'
  | 'message_acked'
  | 'client_check_authz_complete'
  | 'client_connack'

const DEPLOY = new URL(import.meta.url.includes('/dist/') ? '../../../deploy/' : '../', import.meta.url)
const EVENTS = '$events/'

/** The text of a file in deploy/emqx. */
export function emqxFile(name: 'emqx.conf' | 'acl.conf'): string {
  return readFileSync(new URL(`emqx/${name}`, DEPLOY), 'utf8')
}

/** The rules of emqx.conf. */
export class EmqxRules {
  readonly #rules = Object.entries(fieldsOf(at(parseHocon(emqxFile('emqx.conf')), 'rule_engine.rules'))).map(
    ([, rule]) => {
      const [action] = at(rule, 'actions') as readonly Hocon[]
      return { ...parseRule(String(at(rule, 'sql'))), args: at(action ?? '', 'args') }
    },
  )
  /** How often a rule has failed. EMQX only logs such a failure. */
  exceptions = 0

  /** Runs the rules on a message, whose `payload` must be bytes. */
  onMessage(columns: Columns & { readonly topic: string }): readonly RuleMessage[] {
    return this.#run(columns, (filter) => !filter.startsWith(EVENTS) && isMatch(filter, columns.topic))
  }

  onEvent(name: EmqxEventName, columns: Columns): readonly RuleMessage[] {
    const all = { event: name.replace('_', '.'), timestamp: Date.now(), ...columns }
    return this.#run(all, (filter) => filter === `${EVENTS}${name}`)
  }

  #run(columns: Columns, takes: (filter: string) => boolean): readonly RuleMessage[] {
    return this.#rules.flatMap(({ from, run, args }) => {
      if (!from.some(takes)) return []
      try {
        return run(columns).map((selected) => toMessage(args, selected))
      } catch {
        this.exceptions++
        return []
      }
    })
  }
}

export const EMQX_ACL: readonly AclRule[] = parseAcl(emqxFile('acl.conf'))

function toMessage(args: Hocon, selected: Columns): RuleMessage {
  const template = String(at(args, 'payload'))
  const { payload } = selected
  const isBytes = template === '$' + '{payload}' && Buffer.isBuffer(payload)
  const up = fieldsOf(args)['user_properties'] === undefined ? undefined : selected['up']
  return {
    topic: render(String(at(args, 'topic')), selected),
    payload: isBytes ? payload : Buffer.from(render(template, selected)),
    // Our rules select text only.
    up: up as RuleMessage['up'],
  }
}

function fieldsOf(value: Hocon): Readonly<Record<string, Hocon>> {
  if (typeof value !== 'object' || Array.isArray(value)) throw new Error('not an object')
  // The check above leaves only objects.
  return value as Readonly<Record<string, Hocon>>
}
