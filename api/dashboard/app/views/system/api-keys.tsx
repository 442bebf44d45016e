import { useState } from 'preact/hooks'
import type { Operations, ReplyOf } from '../../../../../schemas/client/calls.ts'
import { ROLES, type Role } from '../../../../../schemas/vocabulary.ts'
import { splitList } from '../../address/split-list.ts'
import { refreshAnswers, useAnswer } from '../../data/answers.ts'
import { fleet } from '../../data/client.ts'
import { useWrite } from '../../data/writes.ts'
import { Age } from '../../parts/age.tsx'
import { AnswerTable } from '../../parts/answer-table.tsx'
import { boundFields } from '../../parts/bound-fields.ts'
import { Button } from '../../parts/button.tsx'
import { ConfirmButton } from '../../parts/confirm-button.tsx'
import type { Column } from '../../parts/data-table.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Field } from '../../parts/field.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { pageValue } from '../../parts/pager.tsx'
import { plainText } from '../../parts/plain-text.ts'
import { SecretDialog } from '../../parts/secret-dialog.tsx'
import { SelectField } from '../../parts/select-field.tsx'
import { instant, now } from '../../words/time.ts'
import { words } from '../../words/words.ts'
import { GroupsField } from './groups-field.tsx'

const t = words({
  title: ['API keys', 'API-Schlüssel'],
  removeText: [
    'Requests with {name} are refused from now on.',
    'Was {name} benutzt, wird ab jetzt abgelehnt.',
  ],
  once: [
    'This key is shown only once. Whoever has it acts with its role.',
    'Dieser Schlüssel wird nur jetzt gezeigt. Wer ihn hat, handelt in seiner Rolle.',
  ],
  key: ['API key', 'API-Schlüssel'],
  days: ['Valid for (days); empty: no expiry', 'Gültig (Tage); leer ist unbegrenzt'],
  empty: ['No API keys', 'Es gibt keinen API-Schlüssel'],
  emptyMore: [
    'Services that call Fleet use an API key instead of a login.',
    'Ein Dienst, der Fleet aufruft, benutzt einen statt einer Anmeldung.',
  ],
})

type Key = ReplyOf<Operations['listApiKeys']>['data'][number]

export function ApiKeys() {
  const answer = useAnswer('listApiKeys', { query: { page: pageValue.value } })
  const [isNew, setNew] = useState(false)
  const columns: readonly Column<Key>[] = [
    { name: t('name'), cell: ({ name }) => plainText(name) },
    { name: t('role'), cell: ({ role }) => role },
    { name: t('groups'), cell: ({ groups }) => (groups.length === 0 ? t('wholeFleet') : groups.join(', ')) },
    { name: t('lastUsed'), cell: ({ last_used_at }) => <Age at={last_used_at} /> },
    {
      name: t('ends'),
      cell: ({ expires_at }) =>
        expires_at === null ? t('never') : instant(Date.parse(expires_at), { timeStyle: 'short' }),
    },
    {
      name: t('actions'),
      cell: ({ id, name }) => (
        <ConfirmButton
          icon="trash-2"
          label={t('delete')}
          action={t('delete')}
          onConfirm={async () => {
            await fleet.deleteApiKey({ key_id: id })
            refreshAnswers('listApiKeys')
          }}
        >
          <p>{t('removeText', { name: plainText(name) })}</p>
        </ConfirmButton>
      ),
    },
  ]
  return (
    <>
      <p>
        <Button kind="primary" icon="plus" onClick={() => setNew(true)}>
          {t('newKey')}
        </Button>
      </p>
      <AnswerTable
        answer={answer}
        empty={<Empty title={t('empty')} hint={t('emptyMore')} />}
        caption={t('title')}
        columns={columns}
        idOf={({ id }) => id}
      />
      {isNew && <NewKey onClose={() => setNew(false)} />}
    </>
  )
}

const DAY_MS = 86_400_000

function NewKey({ onClose }: { readonly onClose: () => void }) {
  const [draft, setDraft] = useState({ name: '', groups: '', days: '90' })
  const [role, setRole] = useState<Role>('operator')
  const [key, setKey] = useState<string | undefined>(undefined)
  const { name, groups, days } = draft
  const write = useWrite(async () => {
    const expires =
      days === '' ? {} : { expires_at: new Date(now.peek() + Number(days) * DAY_MS).toISOString() }
    const scope = splitList(groups).length === 0 ? {} : { groups: splitList(groups) }
    const { api_key } = await fleet.createApiKey({ body: { name, role, ...expires, ...scope } })
    refreshAnswers('listApiKeys')
    setKey(api_key)
  })
  if (key !== undefined)
    return <SecretDialog title={name} text={t('once')} label={t('key')} secret={key} onClose={onClose} />
  const field = boundFields(draft, (changes) => setDraft({ ...draft, ...changes }), write.error.value)
  return (
    <FormDialog title={t('newKey')} action={t('newKey')} write={write} onClose={onClose}>
      <Field label={t('name')} {...field('name')} />
      <SelectField
        label={t('role')}
        options={ROLES.map((word) => [word, word] as const)}
        value={role}
        onValue={setRole}
      />
      <GroupsField {...field('groups')} />
      <Field label={t('days')} type="number" min={1} {...field('days', '/expires_at')} />
    </FormDialog>
  )
}
