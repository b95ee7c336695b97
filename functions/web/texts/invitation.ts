const en = {
  title: (shop: string) => `Join ${shop}`,
  shop: 'Shop',
  role: 'Your role',
  inviter: 'Invited by',
  email: 'Your email address',
  existing: 'You have an account already. You can join with it.',
  newcomer: 'Set your name and a password to create your account.',
  name: 'Your name',
  password: 'Password',
  join: 'Join the shop',
  create: 'Create the account and join',
  again: 'Ask the person who invited you for a new invitation.',
}

const es: typeof en = {
  title: (shop) => `Unirse a ${shop}`,
  shop: 'Tienda',
  role: 'Su rol',
  inviter: 'Le invita',
  email: 'Su correo electrónico',
  existing: 'Ya tiene una cuenta. Puede unirse con ella.',
  newcomer: 'Ponga su nombre y una contraseña para crear su cuenta.',
  name: 'Su nombre',
  password: 'Contraseña',
  join: 'Unirse a la tienda',
  create: 'Crear la cuenta y unirse',
  again: 'Pida una invitación nueva a la persona que le invitó.',
}

export const invitation = { en, es }
