// /auth: registration, login and its renewal, and device tokens.
import {
  DeviceToken,
  DeviceTokenBody,
  DownloadTicket,
  DownloadTicketBody,
  JsonWebKeys,
  Login,
  LoginBody,
  LogoutBody,
  Me,
  RefreshBody,
  RegisterBody,
  RegisteredUser,
  RenewTokenBody,
  RevokedDevice,
  SocketTicket,
} from '../auth.ts'
import { DeviceParams } from '../device.ts'
import { API, JSON_TYPES, type Operation } from '../operation.ts'
import { EditOwnBody } from '../users.ts'
import { ROLES } from '../vocabulary.ts'

const tag = 'auth'

export const register = {
  method: 'POST',
  path: `${API}/auth/register`,
  operationId: 'register',
  summary: 'Register a user',
  tag,
  access: 'public',
  mayNeedToken: true,
  scope: 'none',
  body: RegisterBody,
  replies: { 201: RegisteredUser },
  refusals: [
    'UNAUTHENTICATED',
    'TOKEN_EXPIRED',
    'REGISTRATION_LOCKED',
    'ALREADY_EXISTS',
    'LIMIT_REACHED',
    'RATE_LIMIT_EXCEEDED',
  ],
} as const satisfies Operation

export const login = {
  method: 'POST',
  path: `${API}/auth/login`,
  operationId: 'login',
  summary: 'Log in with e-mail and password',
  tag,
  access: 'public',
  scope: 'none',
  body: LoginBody,
  replies: { 200: Login },
  refusals: ['INVALID_CREDENTIALS', 'RATE_LIMIT_EXCEEDED'],
} as const satisfies Operation

export const refresh = {
  method: 'POST',
  path: `${API}/auth/refresh`,
  operationId: 'refresh',
  summary: 'Get a new access token',
  tag,
  access: 'public',
  scope: 'none',
  body: RefreshBody,
  replies: { 200: Login },
  refusals: ['UNAUTHENTICATED', 'TOKEN_EXPIRED'],
} as const satisfies Operation

export const logout = {
  method: 'POST',
  path: `${API}/auth/logout`,
  operationId: 'logout',
  summary: 'End one login or all logins of the caller',
  tag,
  access: ROLES,
  scope: 'self',
  body: LogoutBody,
  bodyOptional: true,
  replies: { 204: 'empty' },
  refusals: ['FORBIDDEN'],
} as const satisfies Operation

export const me = {
  method: 'GET',
  path: `${API}/auth/me`,
  operationId: 'me',
  summary: 'Read the caller’s own profile and role',
  tag,
  access: ROLES,
  scope: 'self',
  replies: { 200: Me },
} as const satisfies Operation

export const editMe = {
  method: 'PATCH',
  path: `${API}/auth/me`,
  operationId: 'editMe',
  summary: 'Change the caller’s own name, e-mail or password',
  tag,
  access: ROLES,
  scope: 'self',
  body: EditOwnBody,
  bodyTypes: JSON_TYPES,
  replies: { 200: Me },
  refusals: ['FORBIDDEN', 'ALREADY_EXISTS', 'RATE_LIMIT_EXCEEDED'],
} as const satisfies Operation

export const listPublicKeys = {
  method: 'GET',
  path: '/.well-known/jwks.json',
  operationId: 'listPublicKeys',
  summary: 'List the public keys that verify tokens (none if tokens are signed with a secret)',
  tag,
  access: 'public',
  scope: 'none',
  replies: { 200: JsonWebKeys },
} as const satisfies Operation

export const issueDeviceToken = {
  method: 'POST',
  path: `${API}/auth/devices/token`,
  operationId: 'issueDeviceToken',
  summary: 'Issue an MQTT token for a device',
  repeats: 'once',
  tag,
  access: ['admin', 'operator'],
  scope: 'target',
  body: DeviceTokenBody,
  replies: { 200: DeviceToken },
  refusals: ['NOT_FOUND', 'DEVICE_DECOMMISSIONED'],
} as const satisfies Operation

export const renewDeviceToken = {
  method: 'POST',
  path: `${API}/auth/devices/token/renew`,
  operationId: 'renewDeviceToken',
  summary: 'Renew a device’s own MQTT token',
  description:
    'For the device itself, with the token that it has: the new one has the same rights, and lives as long or, with `ttl_sec`, shorter. The earlier one stays valid until it expires or is revoked. A connected device does the same by a message on `token/get`.',
  tag,
  access: 'public',
  scope: 'none',
  body: RenewTokenBody,
  replies: { 200: DeviceToken },
  refusals: ['UNAUTHENTICATED', 'RATE_LIMIT_EXCEEDED'],
} as const satisfies Operation

export const revokeDeviceTokens = {
  method: 'POST',
  path: `${API}/auth/devices/{device_id}/revoke`,
  operationId: 'revokeDeviceTokens',
  summary: 'Void every token of a device and end its sessions',
  description:
    'A certificate of the device still counts, and so do tokens that are issued from now on. Sessions end within two seconds.',
  tag,
  access: ['admin', 'operator'],
  scope: 'device',
  deviceRateExempts: 'all',
  params: DeviceParams,
  replies: { 200: RevokedDevice },
  refusals: ['DEVICE_DECOMMISSIONED'],
} as const satisfies Operation

export const issueSocketTicket = {
  method: 'POST',
  path: `${API}/auth/ws-ticket`,
  operationId: 'issueSocketTicket',
  summary: 'Get a ticket that lets a browser open one live stream',
  tag,
  access: ROLES,
  scope: 'self',
  replies: { 200: SocketTicket },
  refusals: ['RATE_LIMIT_EXCEEDED'],
} as const satisfies Operation

export const issueDownloadTicket = {
  method: 'POST',
  path: `${API}/auth/download-ticket`,
  operationId: 'issueDownloadTicket',
  summary: 'Get an address at which a browser downloads a file once, without a token',
  tag,
  access: ROLES,
  scope: 'self',
  body: DownloadTicketBody,
  replies: { 200: DownloadTicket },
  refusals: ['RATE_LIMIT_EXCEEDED'],
} as const satisfies Operation
