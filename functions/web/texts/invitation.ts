import type { About } from '#web/texts/notice-text.ts'

const en = {
  title: (shop: string) => `Join ${shop}`,
  shop: 'Shop',
  role: 'Your role',
  inviter: 'Invited by',
  meant: (email: string, shop: string) => `This invitation is for ${email} to join ${shop}.`,
  existing: 'You have an account already. You can join with it.',
  newcomer: 'Set your name and a password to create your account.',
  name: 'Your name',
  password: 'Password',
  join: 'Join the shop',
  create: 'Create the account and join',
  again: 'Ask the person who invited you for a new invitation.',
  acceptedTitle: (shop: string) => `You have joined ${shop}`,
  accepted: (email: string, shop: string) => `This invitation was used before: ${email} has joined ${shop}.`,
  open: (shop: string) => `Open ${shop}`,
  notices: {
    joined: ({ shop, role }: About) => `You joined ${shop}. Your role there is ${role}.`,
    'joined-sign-in': 'You joined the shop. Sign in to work in it.',
  },
}

const es: typeof en = {
  title: (shop) => `Unirse a ${shop}`,
  shop: 'Tienda',
  role: 'Su rol',
  inviter: 'Le invita',
  meant: (email, shop) => `Esta invitación es para que ${email} se una a ${shop}.`,
  existing: 'Ya tiene una cuenta. Puede unirse con ella.',
  newcomer: 'Ponga su nombre y una contraseña para crear su cuenta.',
  name: 'Su nombre',
  password: 'Contraseña',
  join: 'Unirse a la tienda',
  create: 'Crear la cuenta y unirse',
  again: 'Pida una invitación nueva a la persona que le invitó.',
  acceptedTitle: (shop) => `Ya se unió a ${shop}`,
  accepted: (email, shop) => `Esta invitación ya se había usado: ${email} se unió a ${shop}.`,
  open: (shop) => `Abrir ${shop}`,
  notices: {
    joined: ({ shop, role }) => `Se unió a ${shop}. Su rol allí es ${role}.`,
    'joined-sign-in': 'Se unió a la tienda. Inicie sesión para trabajar en ella.',
  },
}

export const invitation = { en, es }
