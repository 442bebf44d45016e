// People and their roles. An invitation is an account with a password that is shown once.

import { useRef, useState } from 'preact/hooks'
import type { Operations, ReplyOf } from '../../../../../schemas/client/calls.ts'
import { ROLES, type Role } from '../../../../../schemas/vocabulary.ts'
import { splitList } from '../../address/split-list.ts'
import { refreshAnswers, useAnswer } from '../../data/answers.ts'
import { fleet } from '../../data/client.ts'
import { user as me } from '../../data/session.ts'
import { useWrite } from '../../data/writes.ts'
import { Age } from '../../parts/age.tsx'
import { AnswerTable } from '../../parts/answer-table.tsx'
import { boundFields } from '../../parts/bound-fields.ts'
import { Button } from '../../parts/button.tsx'
import { CheckField } from '../../parts/check-field.tsx'
import type { Column } from '../../parts/data-table.tsx'
import { Field } from '../../parts/field.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { pageValue } from '../../parts/pager.tsx'
import { plainText } from '../../parts/plain-text.ts'
import { SecretDialog } from '../../parts/secret-dialog.tsx'
import { SelectField } from '../../parts/select-field.tsx'
import { words } from '../../words/words.ts'
import { GroupsField } from './groups-field.tsx'
import { newPassword } from './new-password.ts'

const t = words({
  login: ['Last login', 'Letzte Anmeldung'],
  active: ['active', 'aktiv'],
  disabled: ['disabled', 'gesperrt'],
  editOf: ['Edit {name}', '{name} bearbeiten'],
  invite: ['Invite', 'Einladen'],
  inviteTitle: ['Invite a person', 'Person einladen'],
  once: [
    'Give {name} this password. It is shown only once and can be changed after the first login.',
    'Geben Sie {name} dieses Passwort. Es wird nur jetzt gezeigt und lässt sich nach der ersten Anmeldung ändern.',
  ],
  isDisabled: ['Login disabled', 'Darf sich nicht anmelden'],
  self: ['Only another admin can change your role.', 'Ihre eigene Rolle ändert ein anderer Admin.'],
})

type User = ReplyOf<Operations['listUsers']>['data'][number]

export function Users() {
  const answer = useAnswer('listUsers', { query: { page: pageValue.value } })
  const [editing, setEditing] = useState<User | undefined>(undefined)
  const [isInviting, setInviting] = useState(false)
  const columns: readonly Column<User>[] = [
    { name: t('name'), cell: ({ name }) => plainText(name) },
    { name: t('email'), cell: ({ email }) => email },
    { name: t('role'), cell: ({ role }) => role },
    { name: t('groups'), cell: ({ groups }) => (groups.length === 0 ? t('wholeFleet') : groups.join(', ')) },
    { name: t('login'), cell: ({ last_login_at }) => <Age at={last_login_at} /> },
    { name: t('state'), cell: ({ disabled }) => (disabled ? t('disabled') : t('active')) },
    {
      name: t('actions'),
      cell: (row) => (
        <Button icon="pencil" label={t('editOf', { name: row.name })} onClick={() => setEditing(row)} />
      ),
    },
  ]
  return (
    <>
      <p>
        <Button kind="primary" icon="plus" onClick={() => setInviting(true)}>
          {t('invite')}
        </Button>
      </p>
      <AnswerTable
        answer={answer}
        empty={null}
        caption={t('users')}
        columns={columns}
        idOf={({ id }) => id}
      />
      {editing !== undefined && <EditUser user={editing} onClose={() => setEditing(undefined)} />}
      {isInviting && <Invite onClose={() => setInviting(false)} />}
    </>
  )
}

function EditUser({ user, onClose }: { readonly user: User; readonly onClose: () => void }) {
  const [role, setRole] = useState<Role>(user.role)
  const [groups, setGroups] = useState(user.groups.join(', '))
  const [disabled, setDisabled] = useState(user.disabled)
  const isSelf = me.value?.id === user.id
  const write = useWrite(async () => {
    await fleet.editUser({
      user_id: user.id,
      body: { groups: splitList(groups), ...(isSelf ? {} : { role, disabled }) },
    })
    refreshAnswers('listUsers')
    onClose()
  })
  return (
    <FormDialog
      title={t('editOf', { name: plainText(user.name) })}
      action={t('save')}
      write={write}
      onClose={onClose}
    >
      {isSelf ? (
        <p class="muted">{t('self')}</p>
      ) : (
        <>
          <SelectField
            label={t('role')}
            options={ROLES.map((word) => [word, word] as const)}
            value={role}
            onValue={setRole}
          />
          <CheckField label={t('isDisabled')} isOn={disabled} onValue={setDisabled} />
        </>
      )}
      <GroupsField value={groups} onValue={setGroups} error={write.error.value} />
    </FormDialog>
  )
}

function Invite({ onClose }: { readonly onClose: () => void }) {
  const [draft, setDraft] = useState({ name: '', email: '', groups: '' })
  const [role, setRole] = useState<Role>('viewer')
  const [password] = useState(newPassword)
  const [isDone, setDone] = useState(false)
  const { name, email, groups } = draft
  // The account is there although its groups were refused: trying again gives it other ones.
  const made = useRef<{ readonly id: string; readonly email: string } | undefined>(undefined)
  const write = useWrite(async () => {
    const isAgain = made.current?.email === email
    const account = isAgain ? made.current : await fleet.register({ body: { name, email, role, password } })
    made.current = account
    const wanted = splitList(groups)
    if (account !== undefined && (isAgain || wanted.length > 0))
      await fleet.editUser({ user_id: account.id, body: { role, groups: wanted } })
    refreshAnswers('listUsers')
    setDone(true)
  })
  const field = boundFields(draft, (changes) => setDraft({ ...draft, ...changes }), write.error.value)
  if (isDone)
    return (
      <SecretDialog
        title={name}
        text={t('once', { name })}
        label={t('password')}
        secret={password}
        onClose={onClose}
      />
    )
  return (
    <FormDialog title={t('inviteTitle')} action={t('invite')} write={write} onClose={onClose}>
      <Field label={t('name')} {...field('name')} />
      <Field label={t('email')} type="email" {...field('email')} />
      <SelectField
        label={t('role')}
        options={ROLES.map((word) => [word, word] as const)}
        value={role}
        onValue={setRole}
      />
      <GroupsField {...field('groups')} />
    </FormDialog>
  )
}
