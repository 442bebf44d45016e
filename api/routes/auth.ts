// /auth: registration, login and its renewal, and device tokens.

import { LIMITS } from '../../engine/limits.ts'
import type { User } from '../../engine/ports/users.ts'
import {
  DeviceToken,
  DeviceTokenBody,
  Login,
  LoginBody,
  LogoutBody,
  Me,
  RefreshBody,
  RegisterBody,
  RegisteredUser,
} from '../../schemas/auth.ts'
import { BODY_LIMITS } from '../../schemas/body-limits.ts'
import { parseDeviceId, toIso } from '../../schemas/ids.ts'
import { ROLES } from '../../schemas/vocabulary.ts'
import type { LoggedIn } from '../auth/accounts.ts'
import { isInScope, scopeOf } from '../auth/scope.ts'
import { type Answer, answer, refused } from '../http/answer.ts'
import { API, type Route, route } from '../http/route.ts'
import type { Services } from '../http/services.ts'

const NO_STORE = { 'cache-control': 'no-store' }
const tag = 'auth'

export function authRoutes({ accounts, engine, tokens }: Services): readonly Route[] {
  return [
    route({
      method: 'POST',
      path: `${API}/auth/register`,
      operationId: 'register',
      summary: 'Register a user',
      tag,
      access: 'public',
      body: RegisterBody,
      replies: { 201: RegisteredUser },
      refusals: [
        'UNAUTHENTICATED',
        'TOKEN_EXPIRED',
        'REGISTRATION_LOCKED',
        'ALREADY_EXISTS',
        'RATE_LIMIT_EXCEEDED',
      ],
      async handle({ body, authenticate }) {
        const result = await accounts.register(body, async () => {
          const caller = await authenticate()
          return caller?.kind === 'user' ? caller.user : caller
        })
        if (result.kind === 'refused') return result
        const { id } = result.user
        return answer(201, registeredBody(result.user), { ...NO_STORE, location: `${API}/users/${id}` })
      },
    }),
    route({
      method: 'POST',
      path: `${API}/auth/login`,
      operationId: 'login',
      summary: 'Log in with e-mail and password',
      tag,
      access: 'public',
      body: LoginBody,
      replies: { 200: Login },
      refusals: ['INVALID_CREDENTIALS', 'RATE_LIMIT_EXCEEDED'],
      async handle({ body, ip }) {
        const result = await accounts.login({ email: body.email, password: body.password, ip })
        return result.kind === 'refused' ? result : loginAnswer(result)
      },
    }),
    route({
      method: 'POST',
      path: `${API}/auth/refresh`,
      operationId: 'refresh',
      summary: 'Get a new access token',
      tag,
      access: 'public',
      body: RefreshBody,
      replies: { 200: Login },
      refusals: ['UNAUTHENTICATED', 'TOKEN_EXPIRED'],
      async handle({ body }) {
        const result = await accounts.refresh(body.refresh_token)
        return result.kind === 'refused' ? result : loginAnswer(result)
      },
    }),
    route({
      method: 'POST',
      path: `${API}/auth/logout`,
      operationId: 'logout',
      summary: 'End a login, or all of them',
      tag,
      access: ROLES,
      body: LogoutBody,
      bodyOptional: true,
      replies: { 204: 'empty' },
      async handle({ user, body }) {
        await accounts.logout(user, body?.refresh_token)
        return answer(204, undefined)
      },
    }),
    route({
      method: 'GET',
      path: `${API}/auth/me`,
      operationId: 'me',
      summary: 'Profile and role of the caller',
      tag,
      access: ROLES,
      replies: { 200: Me },
      handle: ({ user }) => answer(200, meBody(user), NO_STORE),
    }),
    route({
      method: 'POST',
      path: `${API}/auth/devices/token`,
      operationId: 'issueDeviceToken',
      summary: 'Issue an MQTT token for a device',
      tag,
      access: ['admin', 'operator'],
      body: DeviceTokenBody,
      replies: { 200: DeviceToken },
      refusals: ['NOT_FOUND', 'DEVICE_DECOMMISSIONED'],
      async handle({ body, user }) {
        const { scopes, ttl_hours: ttlHours = BODY_LIMITS.deviceTokenHoursDefault } = body
        const deviceId = parseDeviceId(body.device_id)
        const device = deviceId === undefined ? undefined : engine.store.get(deviceId)
        if (deviceId === undefined || device === undefined || !isInScope(device.group, scopeOf(user)))
          return refused('NOT_FOUND', { message: 'no such device' })
        if (device.status === 'decommissioned')
          return refused('DEVICE_DECOMMISSIONED', { device_id: deviceId })
        const validFrom = device.tokensValidFrom
        const { token, expiresAt } = await tokens.issueDevice({ deviceId, validFrom, ttlHours, scopes })
        const issued = { device_id: deviceId, mqtt_token: token, expires_at: toIso(expiresAt) }
        return answer(200, issued, NO_STORE)
      },
    }),
  ]
}

function loginAnswer({ accessToken, refreshToken }: LoggedIn): Answer {
  const body: Login = {
    access_token: accessToken,
    refresh_token: refreshToken,
    token_type: 'bearer',
    expires_in: LIMITS.accessTokenSec,
  }
  return answer(200, body, NO_STORE)
}

function registeredBody({ id, email, name, role, createdAt }: User): RegisteredUser {
  return { id, email, name, role, created_at: toIso(createdAt) }
}

function meBody({ id, email, name, role, groups, createdAt, lastLoginAt }: User): Me {
  const lastLogin = lastLoginAt === undefined ? null : toIso(lastLoginAt)
  return {
    id,
    email,
    name,
    role,
    groups: [...groups],
    created_at: toIso(createdAt),
    last_login_at: lastLogin,
  }
}
