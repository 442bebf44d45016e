import { useState } from 'preact/hooks'
import type { CallOf, Operations } from '../../../../../schemas/client/calls.ts'
import { fleet } from '../../data/client.ts'
import { newIdempotencyKey, useWrite } from '../../data/writes.ts'
import { columns, fleetVersion } from '../../live/fleet-index.ts'
import { Button } from '../../parts/button.tsx'
import { Field } from '../../parts/field.tsx'
import { ProblemCard } from '../../parts/problem-card.tsx'
import { submits } from '../../parts/submits.ts'
import { TypeField } from '../../parts/type-field.tsx'
import { t } from './connect-words.ts'

export type RegistrationReply = Awaited<ReturnType<typeof fleet.registerDevice>>
type Body = CallOf<Operations['registerDevice']>['body']

/** Groups that are offered while one types. */
const GROUPS_MAX = 200

export function RegisterForm({
  onRegistered,
}: {
  readonly onRegistered: (device: RegistrationReply) => void
}) {
  const [name, setName] = useState('')
  const [id, setId] = useState('')
  const [type, setType] = useState('mqtt_device')
  const [group, setGroup] = useState('')
  // It stays for a repetition of the same form, so that the device is not registered twice.
  const [key, setKey] = useState(newIdempotencyKey)
  const write = useWrite(async (body: Body) => {
    onRegistered(await fleet.registerDevice({ body, idempotencyKey: key }))
  })
  const set = (change: (value: string) => void) => (value: string) => {
    change(value)
    setKey(newIdempotencyKey())
  }
  const groups = fleetVersion.value === 0 ? [] : columns.groups.words.filter(Boolean).slice(0, GROUPS_MAX)
  const error = write.error.value
  return (
    <form
      class="form"
      onSubmit={submits(() => {
        const ids = id === '' ? {} : { device_id: id }
        void write.run({ ...ids, name, type, ...(group === '' ? {} : { group }) })
      })}
    >
      <Field
        label={t('name')}
        value={name}
        onValue={set(setName)}
        required
        maxLength={128}
        error={error}
        pointer="/name"
      />
      <Field
        label={t('deviceId')}
        hint={t('idHint')}
        value={id}
        onValue={set(setId)}
        maxLength={64}
        pattern="[A-Za-z0-9][A-Za-z0-9_\-]*"
        autocomplete="off"
        spellcheck={false}
        error={error}
        pointer="/device_id"
      />
      <TypeField value={type} onValue={set(setType)} />
      <Field
        label={t('group')}
        hint={t('groupHint')}
        value={group}
        onValue={set(setGroup)}
        list="known-groups"
        autocomplete="off"
        error={error}
        pointer="/group"
      />
      <datalist id="known-groups">
        {groups.map((known) => (
          <option key={known} value={known} />
        ))}
      </datalist>
      <ProblemCard error={error} />
      <p>
        <Button kind="primary" type="submit" write={write}>
          {t('register')}
        </Button>
      </p>
    </form>
  )
}
